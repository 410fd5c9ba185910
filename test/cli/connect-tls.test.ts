import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { onPath } from "../support/redis-binary.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { runCli } from "./run-cli.ts";

const dir = mkdtempSync(join(tmpdir(), "headgate-tls-"));
const path = (name: string): string => join(dir, name);

function openssl(...args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: "ignore" });
}

/** Signs a certificate for a host, for so many days from a day of 2020 on, or from now. */
function certify(name: string, host: string, ...validity: readonly string[]): void {
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    `/CN=${name}`,
    "-keyout",
    path(`${name}.key`),
    "-out",
    path(`${name}.csr`),
  );
  writeFileSync(path(`${name}.ext`), `subjectAltName=${host}`);
  openssl(
    "x509",
    "-req",
    "-in",
    path(`${name}.csr`),
    "-CA",
    path("ca.crt"),
    "-CAkey",
    path("ca.key"),
    "-CAcreateserial",
    "-extfile",
    path(`${name}.ext`),
    "-out",
    path(`${name}.crt`),
    ...validity,
  );
}

/** A server that speaks TLS on a port of its own; undefined where it was built without. */
async function startTls(
  certificate: string,
  clients: "yes" | "no" = "no",
): Promise<{ readonly server: RedisProcess; readonly url: string } | undefined> {
  const port = await freePort();
  const files = [
    "--tls-cert-file",
    path(`${certificate}.crt`),
    "--tls-key-file",
    path(`${certificate}.key`),
    "--tls-ca-cert-file",
    path("ca.crt"),
  ];
  try {
    const args = ["--tls-port", `${port}`, ...files, "--tls-auth-clients", clients];
    return { server: await startRedis({ port: true, args }), url: `rediss://127.0.0.1:${port}` };
  } catch {
    return undefined;
  }
}

const hasOpenssl = onPath("openssl") !== undefined;
if (hasOpenssl) {
  openssl(
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    "/CN=authority",
    "-days",
    "2",
    "-keyout",
    path("ca.key"),
    "-out",
    path("ca.crt"),
  );
  certify("server", "IP:127.0.0.1", "-days", "2");
}
const started = hasOpenssl ? await startTls("server") : undefined;

afterAll(() => rmSync(dir, { recursive: true }));

describe.skipIf(started === undefined)(
  "the command over TLS (skipped without openssl, and where the server is built without TLS)",
  () => {
    const { server, url } = started as NonNullable<typeof started>;
    afterAll(() => server.stop());

    const limiters = (...args: readonly string[]) => runCli(["limiters", ...args]);

    /** One line that says what to do. */
    async function expectFailure(args: readonly string[], words: string, code = 3): Promise<void> {
      const { exitCode, stderr } = await limiters(...args);
      expect(stderr).toMatch(/^headgate: .+\n$/);
      expect(stderr).toContain(words);
      expect(exitCode).toBe(code);
    }

    test("verifies the server's certificate with --cacert", async () => {
      const { exitCode } = await limiters("--redis", url, "--cacert", path("ca.crt"));
      expect(exitCode).toBe(0);
      await expectFailure(["--redis", url], "give the CA certificate with --cacert FILE");
    });

    test("checks the certificate files before it connects", async () => {
      const missing = ["--redis", url, "--cacert", path("none")];
      await expectFailure(missing, "cannot read --cacert", 2);
      await expectFailure(["--redis", url, "--cacert", path("server.ext")], "is not a PEM file", 2);
      await expectFailure(["--redis", url, "--cert", path("server.crt")], "give both", 2);
    });

    test("explains a TLS connection to a port without TLS, and the reverse", async () => {
      const plain = `rediss://127.0.0.1:${server.port}`;
      await expectFailure(
        ["--redis", plain, "--timeout", "300ms"],
        "use redis:// if this port has no TLS",
      );
      const bare = url.replace("rediss", "redis");
      await expectFailure(["--redis", bare], "if it requires TLS, use rediss://");
    });

    test("rejects a certificate that is for another host or has expired", async () => {
      certify("elsewhere", "DNS:redis.example", "-days", "2");
      certify("old", "IP:127.0.0.1", "-days", "-1");
      const elsewhere = await startTls("elsewhere");
      const old = await startTls("old");
      const with_ = (at: typeof old) => ["--redis", at?.url ?? "", "--cacert", path("ca.crt")];
      await expectFailure(with_(elsewhere), "its certificate is for another host");
      await expectFailure(with_(old), "its certificate has expired");
      await elsewhere?.server.stop();
      await old?.server.stop();
    });

    test("sends the certificate of --cert if the server requires one", async () => {
      certify("client", "DNS:client.example", "-days", "2");
      const strict = await startTls("server", "yes");
      const args = ["--redis", strict?.url ?? "", "--cacert", path("ca.crt")];
      await expectFailure(args, "with --cert FILE and --key FILE");
      const own = ["--cert", path("client.crt"), "--key", path("client.key")];
      expect((await limiters(...args, ...own)).exitCode).toBe(0);
      await strict?.server.stop();
    });
  },
);
