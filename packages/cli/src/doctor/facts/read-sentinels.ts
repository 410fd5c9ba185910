import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openSentinel } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import { factOf } from "./fact.ts";
import type { SentinelFacts } from "./facts.ts";

/** What each Sentinel says of the primary; nothing where the client does not ask Sentinels. */
export async function readSentinels({ client }: Connection): Promise<readonly SentinelFacts[]> {
  if (isCluster(client)) return [];
  return Promise.all(sentinelsOf(client).map((address) => readSentinel(client, address)));
}

/** The primary, by the first Sentinel that says; undefined where none does. */
export async function primaryNamedBy(client: NodeClient): Promise<Address | undefined> {
  for (const sentinel of sentinelsOf(client)) {
    const named = await factOf("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, sentinel, (opened) => namedBy(opened, client)),
    );
    if ("host" in named) return named;
  }
  return undefined;
}

async function readSentinel(client: NodeClient, address: Address): Promise<SentinelFacts> {
  const { name } = client.options;
  const [quorum, primary] = await Promise.all([
    factOf("SENTINEL CKQUORUM", () =>
      withSentinel(client, address, async (opened) =>
        String(await opened.call("SENTINEL", "CKQUORUM", String(name))),
      ),
    ),
    factOf("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, address, async (opened) => {
        const { host, port } = await namedBy(opened, client);
        return `${host}:${port}`;
      }),
    ),
  ]);
  return { place: `${address.host}:${address.port}`, quorum, primary };
}

async function namedBy(opened: NodeClient, { options }: NodeClient): Promise<Address> {
  const reply = await opened.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", String(options.name));
  if (!Array.isArray(reply)) throw new Error(`it knows no primary called ${options.name}`);
  return { host: String(reply[0]), port: Number(reply[1]) };
}

function sentinelsOf({ options }: NodeClient): readonly Address[] {
  return (options.sentinels ?? []).map(({ host = "127.0.0.1", port = 26379 }) => ({ host, port }));
}

async function withSentinel<T>(
  client: NodeClient,
  address: Address,
  ask: (opened: NodeClient) => Promise<T>,
): Promise<T> {
  const opened = await openSentinel(client, address);
  try {
    return await ask(opened);
  } finally {
    opened.disconnect();
  }
}
