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

local KEYS, ARGV, unpack = KEYS, ARGV, unpack
local call, attempt, read, write = redis.call, redis.pcall, struct.unpack, struct.pack
local algorithms, described, units = {}, {}, {}
local changed, changes = {}, 0 -- the units to be written, and how many they are
