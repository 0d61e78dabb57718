"""The page of a server: watch, register and steer continuous queries in a browser."""

from headgate.server.page.mount import add_page as add_page
