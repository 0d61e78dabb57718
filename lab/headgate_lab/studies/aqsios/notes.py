"""How the dissertation is read, for the report, and what matters of it for someone who chooses a policy."""

from __future__ import annotations

from headgate_lab.studies.aqsios.readings import ALIKE, BETTER, FAR, FLAT, GROWN, HUGE, LOW_MS, MUCH, TIGHT
from headgate_lab.studies.aqsios.table import finding
from headgate_lab.studies.judging import STARVES
from headgate_lab.studies.study import Headline

NOTES = (
    "The dissertation gives no operator costs and few query mixes. We chose ours with some of its numbers in view: 12 "
    "settings of costs and 8 mixes were tried. A claim about such a number is marked as fitted, and reproducing it "
    "proves nothing. Where only an absolute level was used, the claim is judged by its other parts and its text says "
    "so: this concerns the levels of SC-1 and ABD-7.",
    "A published number, and a bound that is a measured number, is met within a factor of 2. 'No inversion' means none "
    "in four of five seeds, and 'inversion' some in four of five. Inversion is the sum over neighboring classes of "
    "P_i / P_(i+1) * max(0, RT_i / RT_(i+1) - 1). Where classes are alike to a scheduler, which of them is first is "
    "chance, and inversion is left open: 3D_6 has three identical classes, 3E_6 and 3F_6 have the same mix in each.",
    f"Words are read as numbers. 'Flat', 'close together': the slowest class is below {FLAT:g} times the fastest. "
    f"'Much': more than {MUCH:g} times; 'far above': {FAR:g} times; 'the same', 'stays', 'similar': within a factor of "
    f"{ALIKE:g}; 'tight': no 90th percentile above {TIGHT:g} times its mean; 'low': below {LOW_MS:g} ms in every "
    f"class, 'narrow': a range below that; 'huge': more than {HUGE:g} times the range of class 1; a 'range' goes from "
    f"the 10th to the 90th percentile. 'Starves' is a level, as the dissertation uses it: more than {STARVES:g} times "
    "what the same class takes where it is said not to starve (MPRR: under MBD; ABD: under CQC; MBD: under MRR). 'No "
    f"overload' (PIAT-2): the last fifth of the input is less than {GROWN:g} times as slow as the second.",
    "Arrivals are Poisson. Input ends when the fastest steady stream has delivered its tuples; the run then continues "
    "until its queues are empty, for at most as long again. The dissertation injects 10,000 tuples per stream and "
    "takes the responses of 'the tuples outputted', and nothing says that they are cut off; texts also give the "
    "result of those that come before the input ends, from the same runs. Tuples of the first 0.2 s (or of the first "
    "quarter, if that is shorter) do not count. Experiments in which something changes over time last as long as the "
    "changes take, whatever the number of tuples; quick runs leave them out. What grows for as long as an overload "
    "lasts is judged only from runs of 10,000 tuples. WeHR, PCT, PCT_S and, on one core, CQC always have that length.",
    "Sizes: 2,000 tuples per stream and five seeds; three seeds for runs of a fixed length and for those with a slow "
    "input (PI), two for runs that are only made for other readings. With 10,000 tuples and five seeds throughout, the "
    "study would take well over two hours of processor time. What was cut was chosen by what it costs, not by what it "
    "found.",
    "Chapter 4 (A, B, C; one core) measures response time as process CPU time, without idle time. A core that works "
    "whenever a tuple is waiting is never idle during a response, so elapsed time is the same, except for join tuples "
    "that wait until the other input has caught up; so inputs do not wait for each other there. Sources are operators "
    "and run when no other operator is ready. CQC polls them once per turn and ends calls after 50 tuples, as the "
    "public code of AQSIOS does; HR has calls on whole queues, as the text says. Tried: three limits of polls, two of "
    "tuples per call, five costs of a call.",
    "From chapter 5 on, operators with two inputs consume tuples in timestamp order, as the public code of AQSIOS "
    "does; texts also give the result without that. 'With results taken back': when a tuple leaves a window, what "
    "came of it is taken back, which counts as a result too; the public code does that, the text is silent.",
    "The cost of scheduling is ours, too. Where several cores share a schedule, each decision costs 5.5 us, including "
    "the lock, and so does each query that turns out to have no input. On one core, moving on to a class costs 5 us "
    "and an operator without input 0.2 us, but choosing an operator costs nothing under any scheduler.",
    "ABD goes over the operators of a class once per slice, and its first quota shrinks until it has grown; MOL has "
    "whole tickets, without a multiplier, and ML real ones with MBD's; MPRR takes a share of each queue, relative to "
    "the sum of all priorities; texts also give the results of the other readings.",
    "Figures 13, 107, 116 and 121 to 123 are pictures without numbers, so the changes over time are ours, in line "
    "with what the text says about them. In ABD-8 the rate of class 1 has a burst from 5.5 to 6 s; 'at all times' "
    "means in every half second except that one, in which class 1 is not the lowest. The episode 'at about 7.2 to "
    "7.6 s' (PIAT-7) is looked for from 7.1 to 7.7 s. A plot's upper limit (SC-2) is compared with the largest 90th "
    "percentile. A 'sharp rise' (SC-4) is the time from which the weighted mean of each tenth of a second stays above "
    "three times that from 1 to 2 s, within a quarter of 1600 tuples/s; 'runaway': ten times that at the end.",
    f"CMP-24: 'reaches 450 ms' is the 90th percentile, where a box ends; PCT_S 'improves only class 1' if no other "
    f"class falls below {BETTER:g} of what it was. 'Ranges above 10 ms' (CMP-21, CMP-25) is about the widest class. "
    "On 3E_6 a caption and the text disagree about MOL, which is not judged there.",
    "Inversion with modules (PI, SEL) is that of the whole run, including the time before a module has acted. Modules "
    "look at the results of the last 0.5 s; texts also give the result when they look at all results since the start. "
    "Where priorities change, classes are compared by their means between changes, without the first 0.2 s after each, "
    "under the priorities valid at that time.",
    "Schedulers with the same seed see the same tuples and selectivities, so their differences are paired.",
)
HEADLINES = (
    Headline(
        "important classes first, on several cores",
        "take mbd: no inversion at any level, and the fastest (weighted) of those without",
        ("CMP-28",),
    ),
    Headline(
        "the same, however many cores",
        "take mbd: responses stay the same when queries and cores grow together",
        ("SC-1",),
    ),
    Headline(
        "the least mean response, whatever the class",
        "take mrr: it is faster than morr, and flat over classes",
        ("CMP-2",),
    ),
    Headline(
        "important classes first, on one core that also reads the sources",
        "take cqc: class 1 is much faster than under hr; the least important class pays",
        ("CQC-1", "CQC-2", "CQC-3", "CQC-6", "CQC-7"),
        finding("w=A,B,C: CQC@w mean 1 < HR@w mean 1 by MUCH", "w=A,B,C: HR@w mean 3 < CQC@w mean 3", in_step=False),
    ),
    Headline(
        "important classes first, on one core beside the sources",
        "take abd: on average, and for class 1, it is faster than cqc",
        ("ABD-1", "ABD-3", "ABD-4", "ABD-5", "ABD-6"),
        finding("w=D,E,F,5G: ABD@w weighted < CQC@w weighted", "w=D,E,F,5G: ABD@w mean 1 < CQC@w mean 1"),
    ),
    Headline(
        "the same without any inversion",
        "take abd: it moves frequencies until no class is slower than a less important one",
        ("ABD-4", "ABD-6"),
        finding("w=D,E,F,5G: none ABD@w inversion"),
    ),
    Headline(
        "no class that starves",
        "take mbd rather than mprr, which starves its last class",
        ("CMP-4", "CMP-11", "CMP-26"),
        finding(
            "w=3D_6,3E_6,3F_6: MPRR@w mean 3 starves beside MBD@w mean 3",
            "w=5G_4,5I: MPRR@w mean 5 starves beside MBD@w mean 5",
        ),
    ),
    Headline(
        "priorities that an administrator changes",
        "take mbd with `priorities: follow`: a change is effective within a second; without it, classes stay inverted",
        ("UP-1", "UP-2"),
    ),
    Headline(
        "no inversion where a class has a slow input",
        "add a module to mbd, whichever of the four: it removes the inversion",
        ("PI-6", "PI-7"),
    ),
)
