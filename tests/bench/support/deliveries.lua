-- wrk's script: one signed body under a new delivery GUID each time; prints one JSON line at the end.
-- Arguments: path, event, signature, file of the body, prefix of the GUIDs.

local path, event, signature, body, prefix
local sent = 0

function init(arguments)
  path, event, signature = arguments[1], arguments[2], arguments[3]
  local file = assert(io.open(arguments[4], "rb"))
  body = file:read("*a")
  file:close()
  prefix = arguments[5]
end

function request()
  sent = sent + 1
  return wrk.format("POST", path, {
    ["Content-Type"] = "application/json",
    ["X-GitHub-Event"] = event,
    ["X-Hub-Signature-256"] = signature,
    ["X-GitHub-Delivery"] = prefix .. sent,
  }, body)
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '{"answered": %d, "seconds": %.6f, "failed": %d, "p50_ms": %.3f, "p99_ms": %.3f}\n',
    summary.requests, summary.duration / 1e6, failed,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
