// Sends requests to the port in its argument at a rate, each on a connection of its own, whether or not earlier ones were answered.
// Prints how many were answered with each status.
import { connect } from "node:net";

const [port, perSecond, seconds] = process.argv.slice(2).map(Number);
const total = perSecond * seconds;
const counts = { sent: total, ok: 0, shed: 0, failed: 0 };
const startedAt = performance.now();
let sent = 0;
let answered = 0;

function send() {
  let status;
  const socket = connect(port, "127.0.0.1");
  socket.on("connect", () => {
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  });
  socket.on("data", (data) => {
    status ??= data.toString("latin1", 9, 12);
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    answered += 1;
    if (status === "200") counts.ok += 1;
    else if (status === "503") counts.shed += 1;
    else counts.failed += 1;
  });
}

const timer = setInterval(() => {
  const due = Math.min(total, ((performance.now() - startedAt) / 1_000) * perSecond);
  for (; sent < due; sent += 1) send();
  const isOver = performance.now() - startedAt > (seconds + 20) * 1_000;
  if (answered < total && !isOver) return;
  clearInterval(timer);
  console.log(JSON.stringify(counts));
  process.exit();
}, 1);
