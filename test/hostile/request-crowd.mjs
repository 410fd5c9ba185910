// Sends requests to a server on this machine, and reads no response, until the process is ended.
//
//   node request-crowd.mjs streams|pipelined|connections PORT COUNT
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";

const [kind, port, count] = process.argv.slice(2);

/** How many requests share a connection. */
const EACH = { streams: 1_000, pipelined: 100, connections: 1 };

/** How many connections are opened at a time. */
const AT_ONCE = 100;

const REQUEST = "GET /waiting HTTP/1.1\r\nHost: localhost\r\n\r\n";

async function openStreams(requests) {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  // Before that it would send a hundred.
  await once(session, "remoteSettings");
  for (let i = 0; i < requests; i += 1) {
    session.request({ ":path": "/waiting" }).on("error", () => {});
  }
}

async function sendOnConnection(requests) {
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => {});
  socket.write(REQUEST.repeat(requests));
}

const send = kind === "streams" ? openStreams : sendOnConnection;
const each = EACH[kind];
for (let sent = 0; sent < Number(count); sent += AT_ONCE * each) {
  const left = Math.min(AT_ONCE, Math.ceil((count - sent) / each));
  await Promise.all(
    Array.from({ length: left }, (_, i) => send(Math.min(each, count - sent - i * each))),
  );
}
