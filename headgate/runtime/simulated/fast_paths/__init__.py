"""Schedules that leave no decision open, served without asking the board and the policy for each call.

Each module checks whether its schedule applies and otherwise leaves the run to the event loop. The results are those of
the event loop; only the order in which means are summed differs.
"""
