# Turns plain comments of public headers into Doxygen's: a comment on its own line documents what
# follows, one behind a declaration documents that.
s@^([[:space:]]*)//([[:space:]]|$)@\1///\2@
s@([;,{][[:space:]]+)//[[:space:]]@\1///< @
s@([A-Za-z0-9_)=][[:space:]]+)// @\1///< @
s@^([[:space:]]*)/\*[[:space:]]@\1/** @
s@([;,][[:space:]]+)/\*[[:space:]]@\1/**< @
s@//+<? NOLINT.*$@@
