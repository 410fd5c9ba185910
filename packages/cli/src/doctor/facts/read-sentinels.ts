import type { Connection } from "../../connect/connection.ts";
import type { NodeClient } from "../../connect/node-clients.ts";
import { isCluster, openSentinel } from "../../connect/node-clients.ts";
import type { Address } from "../../connect/redis-url.ts";
import { readFact } from "./fact.ts";
import type { SentinelFacts } from "./facts.ts";

/** The state of each Sentinel; empty if the client does not use Sentinels. */
export async function readSentinels({ client }: Connection): Promise<readonly SentinelFacts[]> {
  if (isCluster(client)) return [];
  return Promise.all(sentinelsOf(client).map((address) => readSentinel(client, address)));
}

/** The address of the primary from the first Sentinel that answers; undefined if none does. */
export async function findPrimaryAddress(client: NodeClient): Promise<Address | undefined> {
  for (const sentinel of sentinelsOf(client)) {
    const address = await readFact("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, sentinel, (opened) => readPrimaryAddress(opened, client)),
    );
    if ("host" in address) return address;
  }
  return undefined;
}

async function readSentinel(client: NodeClient, address: Address): Promise<SentinelFacts> {
  const { name } = client.options;
  const [quorum, primary] = await Promise.all([
    readFact("SENTINEL CKQUORUM", () =>
      withSentinel(client, address, async (opened) =>
        String(await opened.call("SENTINEL", "CKQUORUM", String(name))),
      ),
    ),
    readFact("SENTINEL GET-MASTER-ADDR-BY-NAME", () =>
      withSentinel(client, address, async (opened) => {
        const { host, port } = await readPrimaryAddress(opened, client);
        return `${host}:${port}`;
      }),
    ),
  ]);
  return { address: `${address.host}:${address.port}`, quorum, primary };
}

async function readPrimaryAddress(opened: NodeClient, { options }: NodeClient): Promise<Address> {
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
  work: (opened: NodeClient) => Promise<T>,
): Promise<T> {
  const opened = await openSentinel(client, address);
  try {
    return await work(opened);
  } finally {
    opened.disconnect();
  }
}
