--[[
The entries of a sliding log, in a string of their own that is used as a ring of slots: 7 bytes of time, 6 of total.
Single entries are read and written in place. The ring is rewritten as a whole only to change its size: when it is
full it grows by half, so that this costs each entry a constant share, and it shrinks when 7/8 of it are free.

Live entry i has the number head + i; numbers count from the oldest entry stored when the log was opened.
]]
local SLOT = 13

-- Called by the sliding log when it is needed: most calls have none, and defining functions takes time.
local function defineEntries()
  local Entries = {}
  Entries.__index = Entries

  -- A position in the string, as text: servers differ in how they write large numbers.
  local function position(number)
    return string.format("%.0f", number)
  end

  local function openEntries(first, count, size)
    return setmetatable({ first = first, size = size, head = 0, tail = count, stored = count, changed = {} }, Entries)
  end

  function Entries:copy()
    local changed = {}
    for number, entry in pairs(self.changed) do
      changed[number] = entry
    end
    local copy = setmetatable({}, Entries)
    for name, value in pairs(self) do
      copy[name] = value
    end
    copy.changed = changed
    return copy
  end

  -- Ties the entries to the key they are stored in, and to the state they were stored with.
  function Entries:attach(key, state)
    self.key, self.clock, self.base, self.last = key, state.clock, state.base, state.total
  end

  -- The ring as it is kept in the unit: the slot of the oldest entry, how many there are, how many slots.
  function Entries:geometry()
    return self.first, self:count(), self.size
  end

  -- The length the string should have, at least.
  function Entries:bytes()
    return self.size * SLOT
  end

  function Entries:count()
    return self.tail - self.head
  end

  function Entries:slot(number)
    return (self.first + number - 1) % self.size
  end

  function Entries:read(number)
    local entry = self.changed[number]
    if not entry then
      local from = self:slot(number) * SLOT
      local time, total = struct.unpack(">I7I6", redis.call("GETRANGE", self.key, position(from), position(from + SLOT - 1)))
      -- Whatever is found there, no entry is newer than the log or outside its totals.
      time, total = math.min(time, self.clock), math.max(self.base, math.min(total, self.last))
      entry = { time = time, total = total }
      self.changed[number] = entry
    end
    return entry
  end

  function Entries:time(i)
    return self:read(self.head + i).time
  end

  function Entries:total(i)
    return self:read(self.head + i).total
  end

  function Entries:set(i, time, total)
    local number = self.head + i
    self.changed[number] = { time = time, total = total }
    self.dirty = math.min(self.dirty or number, number)
  end

  function Entries:append(time, total)
    self.tail = self.tail + 1
    self:set(self:count(), time, total)
  end

  function Entries:pop()
    self.changed[self.tail] = nil
    self.tail = self.tail - 1
  end

  function Entries:drop(count)
    self.head = self.head + count
  end

  -- Packs the changed entries from one number to another.
  function Entries:pack(from, to)
    local bytes = {}
    for number = from, to do
      local entry = self:read(number)
      bytes[#bytes + 1] = struct.pack(">I7I6", entry.time, entry.total)
    end
    return table.concat(bytes)
  end

  -- The stored bytes of entries that did not change, as at most two blocks.
  function Entries:block(from, to)
    if from > to then
      return ""
    end
    local first, last = self:slot(from) * SLOT, self:slot(to) * SLOT + SLOT - 1
    if first < last then
      return redis.call("GETRANGE", self.key, position(first), position(last))
    end
    return redis.call("GETRANGE", self.key, position(first), "-1") .. redis.call("GETRANGE", self.key, "0", position(last))
  end

  function Entries:resize(size, milliseconds)
    local from = self.head + 1
    local fixed = math.min(self.stored, self.tail, (self.dirty or self.tail + 1) - 1)
    local bytes = self:block(from, fixed) .. self:pack(math.max(from, fixed + 1), self.tail)
    local padding = string.rep("\0", size * SLOT - #bytes)
    redis.call("SET", self.key, bytes .. padding, "PX", milliseconds)
    self.size, self.first = size, 0
  end

  function Entries:overwrite(milliseconds)
    local number = math.max(self.dirty or self.tail + 1, self.head + 1)
    while number <= self.tail do
      -- Up to the end of the ring, or to the newest.
      local slot = self:slot(number)
      local last = math.min(self.tail, number + self.size - slot - 1)
      redis.call("SETRANGE", self.key, position(slot * SLOT), self:pack(number, last))
      number = last + 1
    end
    redis.call("PEXPIRE", self.key, milliseconds)
    self.first = (self.first + self.head) % self.size
  end

  -- Writes what changed. `limit` is the most entries there can ever be.
  function Entries:flush(limit, milliseconds)
    local count = self:count()
    if count == 0 then
      redis.call("DEL", self.key)
      self.size, self.first = 0, 0
    elseif count > self.size or (self.size > 64 and count * 8 < self.size) then
      self:resize(math.min(limit, count + math.max(2, math.ceil(count / 2))), milliseconds)
    else
      self:overwrite(milliseconds)
    end
    self.tail, self.head, self.stored, self.changed, self.dirty = count, 0, count, {}, nil
  end

  return openEntries
end
