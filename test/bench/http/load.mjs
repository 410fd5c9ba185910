import { connect } from "node:net";

const REQUEST = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n";
const HEAD_END = "\r\n\r\n";

/**
 * Keeps one request open on each connection for a while, and reports how many were answered, and how long each took. A generator
 * that parsed more would cost as much as the servers it is to load; answers are known to come in one piece, and every one
 * must have the status that is expected.
 */
export async function load({ port, connections, durationMs, status }) {
  const begin = `HTTP/1.1 ${status} `;
  const latencies = [];
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const from = performance.now();
  const until = from + durationMs;

  function keepSending(socket) {
    return new Promise((resolve, reject) => {
      let askedAt = 0;
      const send = () => {
        askedAt = performance.now();
        socket.write(REQUEST, "latin1");
      };
      socket.on("error", reject);
      socket.on("data", (answer) => {
        const text = answer.latin1Slice(0, answer.length);
        if (!isComplete(text) || !text.startsWith(begin)) {
          reject(new Error(`expected one answer with status ${status}, got ${text}`));
          return;
        }
        const now = performance.now();
        latencies.push(now - askedAt);
        if (now < until) return send();
        socket.destroy();
        resolve();
      });
      send();
    });
  }

  await Promise.all(sockets.map(keepSending));
  return { perSecond: (latencies.length * 1_000) / (performance.now() - from), latencies };
}

function open(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Whether a text is one whole answer, neither less nor more. */
function isComplete(text) {
  const end = text.indexOf(HEAD_END);
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return end > 0 && length !== undefined && text.length === end + HEAD_END.length + Number(length);
}
