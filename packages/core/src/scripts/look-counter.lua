--- @include "advance-counter"
--- @limits report
value = isKnown and bytes or false
