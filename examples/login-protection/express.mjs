// A login that is guarded against guessing, behind Express: README.md says how.
//
//   npx -y pnpm@10.34.9 build
//   node examples/login-protection/express.mjs        (with REDIS_URL=redis://... all processes count together)
//   curl -i http://localhost:3000/login -H "content-type: application/json" -d '{"email":"ada@example.org","password":"?"}'

import { rateLimit } from "@headgate/express";
import express from "express";
import { account, isRight, protection, welcome } from "./protection.mjs";

const app = express();
// The addresses of your own proxies: they may say whose request it is.
app.set("trust proxy", "loopback");

const login = rateLimit(protection);

app.post("/login", express.json(), login, async (req, res) => {
  if (!isRight(req)) {
    res.status(401).json({ error: "wrong address or password" });
    return;
  }
  res.append("set-cookie", await welcome(req, login.of(req)));
  res.json({ welcome: account(req) });
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
