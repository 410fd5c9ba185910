--[[
What a limit that blocks has beside its algorithm. Its rule begins behind byte RULE_AT of the argument: numbers of 5 digits, which
are the milliseconds without a block after which the level is forgotten, then those of LEVELS blocks.
]]

--- @section exceeds
not (ALLOWS) and cost <= GRANTED

--- @section exceeded
--- @include "longest-block"

--- @section outlives
isSet
