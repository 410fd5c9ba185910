--[[
The last `size` outcomes. Twin of call-window.ts.

  7 bytes  when outcomes were last added; then the failures and the slow calls among them, 2 bytes each
  then a digit for each outcome, the oldest first: 0, plus 1 for a failure, plus 2 for a slow call
]]
windows.calls = function()
  local HEADER_WIDTH, RETENTION_MICROS = 11, 86400000000 -- a day, in microseconds
  local window = {}

  local function count(digits)
    local _, failures = string.gsub(digits, "[13]", "")
    local _, slowCalls = string.gsub(digits, "[23]", "")
    return failures, slowCalls
  end

  function window.createEmpty(now)
    return { lastAddedAt = now, calls = 0, failures = 0, slowCalls = 0, digits = "" }
  end

  -- Returns nil if the bytes are not a window.
  function window.unpack(bytes, size)
    if #bytes < HEADER_WIDTH or #bytes > HEADER_WIDTH + size then
      return nil
    end
    local lastAddedAt, failures, slowCalls = struct.unpack(">I7I2I2", bytes)
    local digits = string.sub(bytes, HEADER_WIDTH + 1)
    return { lastAddedAt = lastAddedAt, calls = #digits, failures = failures, slowCalls = slowCalls, digits = digits }
  end

  function window.pack(state)
    return struct.pack(">I7I2I2", state.lastAddedAt, state.failures, state.slowCalls) .. state.digits
  end

  -- Forgets all outcomes after a day without a new one. Returns whether the clock stepped back.
  function window.advance(state, now)
    local steppedBack = state.lastAddedAt > now
    if steppedBack then
      state.lastAddedAt = now
    elseif now - state.lastAddedAt >= RETENTION_MICROS then
      state.lastAddedAt, state.calls, state.failures, state.slowCalls, state.digits = now, 0, 0, 0, ""
    end
    return steppedBack
  end

  -- Adds outcomes, given as digits.
  function window.add(state, outcomes, now, size)
    local all = state.digits .. outcomes
    local kept = string.sub(all, -size)
    local failures, slowCalls = count(outcomes)
    local removedFailures, removedSlowCalls = count(string.sub(all, 1, #all - #kept))
    state.lastAddedAt, state.digits, state.calls = now, kept, #kept
    state.failures = state.failures + failures - removedFailures
    state.slowCalls = state.slowCalls + slowCalls - removedSlowCalls
  end

  -- Microseconds after which a window without new outcomes is the same as none.
  function window.retentionMicros()
    return RETENTION_MICROS
  end

  return window
end
