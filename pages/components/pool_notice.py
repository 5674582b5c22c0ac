"""What a page says while the pool file cannot be used, with the way to the page where it is mended."""

from __future__ import annotations

import streamlit as st

from pages.components.services import services
from pages.components.state import plain


def pool_notice(*, link: bool = True) -> bool:
    """Say it where there is something to say; whether there is a pool to work with."""
    configured = services().configured
    fault = configured.fault
    if fault is None:
        return True
    usable = configured.usable
    with st.container(key="pool-notice", gap="small"):
        if usable:
            kept = "Until that is mended, the pool stays as it was."
            st.warning(plain(f"{fault} {kept}"), icon=":material/warning:")
        else:
            st.error(plain(str(fault)), icon=":material/error:")
        if link:
            st.page_link("pages/pool.py", label="Mend it on the pool page", icon=":material/groups:")
    return usable
