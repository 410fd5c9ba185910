--- @include "advance-counter"
--- @limits report
value = bytes
