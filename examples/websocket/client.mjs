// A client that sends 40 messages at once.

import { WebSocket } from "ws";

const ws = new WebSocket(process.env["CHAT_URL"] ?? "ws://localhost:4000");

ws.on("open", () => {
  for (let i = 0; i < 40; i += 1) ws.send(`message ${i}`);
});
ws.on("message", (data) => console.log(String(data)));
ws.on("close", (code, reason) => console.log("closed", code, String(reason)));
