-- For wrk: posts the file that BODY names, as JSON.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.body = file:read("a")
wrk.headers["Content-Type"] = "application/json"
file:close()

function done(summary, latency)
  io.write(string.format("p50 %.0f us, p99 %.0f us, max %.0f us, requests %d, errors %d\n",
                         latency:percentile(50), latency:percentile(99), latency.max, summary.requests,
                         summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect))
end
