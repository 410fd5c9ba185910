--[[
A unit: one subject of one limiter in one dimension. Its key holds the packed states of its limits behind one stamp:
  7 bytes  stamp: microseconds since the epoch at which the states were true
  6 bytes  birth: a number that tells this life of the unit from earlier ones, so that a refund cannot reach into a new one
  then each limit's state, in the policy's canonical order
Whatever does not fit (another length, numbers out of range) is garbage and counts as absent.

A working copy of a unit is one array of these numbers, as one struct.unpack reads and one struct.pack writes them: a table for
each state would cost more than the arithmetic on it. Before the numbers it has its key, its limits and, once it is to be
written, its reset: for how many microseconds it differs from an absent unit.
]]
local KEY, LIMITS, RESET, STAMP, BIRTH, STATES = 1, 2, 3, 4, 5, 6

local call, attempt, struct, unpack, frexp = redis.call, redis.pcall, struct, unpack, math.frexp
local read, write = struct.unpack, struct.pack
-- What this call has learned: limits by their description; a limit with the functions of an algorithm by the algorithm's name;
-- the PX of a key by its magnitude.
local known = {}
local units, changed, changes = {}, { false }, 0 -- the units by key; those to be written, and how many they are
