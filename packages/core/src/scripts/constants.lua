-- Numbers that stand in the scripts in place of their names.
local SAFE = 9007199254740991 -- 2^53 - 1: integers up to here are exact
local LONGEST = 9007199254740000 -- microseconds, 285 years: the longest time that is kept or reported
local MOST = 2000000000 -- units that a limit can hold
local ENTRIES = 1048576 -- entries that a log can hold
local DAY = 86400000 -- milliseconds
local YEAR = 31622400000000 -- microseconds of 366 days, the longest duration
local LAST_SECOND = 4294967295 -- 2^32 - 1
local BLOCK = 16 -- bytes behind a counter that has a block
local LEVELS = 16 -- blocks in a list that escalates
local HOLDER_BYTES = 8 -- of the holder of a place
