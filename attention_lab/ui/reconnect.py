"""After the connection was lost: the page comes back to life by itself."""

import streamlit as st

OFTEN = "7d"  # the browser counts in 32 bits of milliseconds; it need never run


@st.fragment(run_every=OFTEN)
def come_back() -> None:
    """Have the browser run the page anew whenever it has connected again.

    Streamlit's browser side does so only for a page that has a fragment with a timer, or if its
    last run was one of a fragment. Without it, after a restart of the server or with another
    replica, a page looks alive but every control in a fragment does nothing: the new server does
    not know the fragment, and says so to nobody.
    """
