import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import type { Webhook } from "../../examples/webhooks/webhooks.ts";
import { createDelivery } from "../../examples/webhooks/webhooks.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabases } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const clients = useOwnDatabases(2);

interface Receiver {
  readonly url: string;
  /** Milliseconds, when each webhook arrived. */
  readonly arrivals: readonly number[];
  /** The status of its answers, and a header. */
  answer: { status: number; retryAfter?: string };
}

/** A receiver on a port of its own. */
async function startReceiver(status: number): Promise<Receiver> {
  const arrivals: number[] = [];
  const receiver = { url: "", arrivals, answer: { status } as Receiver["answer"] };
  const url = await serve((_, response) => {
    arrivals.push(performance.now());
    const { status, retryAfter } = receiver.answer;
    response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter }).end();
  });
  return Object.assign(receiver, { url: `${url}/hooks` });
}

/** The messages of the outbox, in order. */
function recordOutbox() {
  const later: { webhook: Webhook; afterMs: number }[] = [];
  const givenUp: Webhook[] = [];
  return {
    later: (webhook: Webhook, afterMs: number) => void later.push({ webhook, afterMs }),
    giveUp: (webhook: Webhook) => void givenUp.push(webhook),
    retries: later,
    givenUp,
  };
}

function webhook({ url }: Receiver, id = "1", sent = 0): Webhook {
  return { id, url, body: { hello: "world" }, sent };
}

/** Two processes of a fleet. */
function fleet(outbox: ReturnType<typeof recordOutbox>) {
  const prefix = `webhooks-${Math.random().toString(36).slice(2)}`;
  return clients.map((client) => createDelivery(redisStore(client, { prefix }), outbox));
}

test("each receiver gets one webhook every 200 ms from all processes together", async () => {
  const outbox = recordOutbox();
  const [first, second] = await Promise.all([startReceiver(200), startReceiver(200)]);
  const processes = fleet(outbox);
  const receivers = [first, second];
  const start = performance.now();
  await Promise.all(
    processes.flatMap((deliver) =>
      receivers.flatMap((to) => [1, 2, 3].map((id) => deliver(webhook(to, `${id}`)))),
    ),
  );
  for (const { arrivals } of receivers) {
    expect(arrivals).toHaveLength(6);
    // Five gaps. With a pace for each process it would be two.
    expect(Number(arrivals.at(-1)) - start).toBeGreaterThan(995);
  }
  // Side by side: neither waited for the other.
  expect(Number(second.arrivals[0])).toBeLessThan(Number(first.arrivals.at(-1)));
  expect(outbox.retries).toEqual([]);
});

test("all processes stop calling a receiver that fails, and only that one", async () => {
  const outbox = recordOutbox();
  const [broken, good] = await Promise.all([startReceiver(500), startReceiver(200)]);
  const processes = fleet(outbox);
  const [one, other] = processes as [(typeof processes)[0], (typeof processes)[0]];
  for (let i = 0; i < 5; i += 1) await one(webhook(broken, `${i}`));
  expect(broken.arrivals).toHaveLength(5);
  expect(outbox.retries.map(({ webhook: { sent }, afterMs }) => [sent, afterMs])).toEqual(
    Array.from({ length: 5 }, () => [1, 5_000]),
  );
  // Outcomes are sent a quarter of a second late.
  await expect
    .poll(async () => {
      const { length } = broken.arrivals;
      await other(webhook(broken, "6", 3));
      return broken.arrivals.length - length;
    })
    .toBe(0);
  const refused = outbox.retries.at(-1);
  // It was not sent, so it is not counted among the tries.
  expect(refused?.webhook.sent).toBe(3);
  expect(refused?.afterMs).toBeGreaterThan(25_000);
  expect(refused?.afterMs).toBeLessThanOrEqual(30_000);
  await other(webhook(good));
  expect(good.arrivals).toHaveLength(1);
});

/** In this process, on a clock that the test moves. */
function inMemory() {
  let now = 0;
  const store = memoryStore({ clock: () => 1_800_000_000_000 + now });
  const pass = (ms: number) => {
    now += ms;
  };
  return { store, pass, now: () => now };
}

test("after half a minute one webhook tests whether the receiver has recovered", async () => {
  const { store, pass, now } = inMemory();
  const outbox = recordOutbox();
  const deliver = createDelivery(store, outbox);
  const receiver = await startReceiver(500);
  const lines: string[] = [];
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  const send = async (id: string): Promise<void> => {
    const { arrivals, answer } = receiver;
    const before = [arrivals.length, outbox.retries.length] as const;
    await deliver(webhook(receiver, id));
    const what = arrivals.length > before[0] ? `answered ${answer.status}` : "not sent";
    const retry = outbox.retries[before[1]];
    const again = retry === undefined ? "" : `, again in ${seconds(retry.afterMs)} s`;
    lines.push(`${seconds(now()).padStart(4)} s  webhook ${id}: ${what}${again}`);
    pass(200);
  };
  for (let id = 1; id <= 6; id += 1) await send(`${id}`);
  receiver.answer.status = 200;
  pass(29_600);
  await send("7");
  await send("8");
  expect(lines).toEqual([
    " 0.0 s  webhook 1: answered 500, again in 5.0 s",
    " 0.2 s  webhook 2: answered 500, again in 5.0 s",
    " 0.4 s  webhook 3: answered 500, again in 5.0 s",
    " 0.6 s  webhook 4: answered 500, again in 5.0 s",
    " 0.8 s  webhook 5: answered 500, again in 5.0 s",
    " 1.0 s  webhook 6: not sent, again in 29.8 s",
    "30.8 s  webhook 7: answered 200",
    "31.0 s  webhook 8: answered 200",
  ]);
});

test("retries back off exponentially, honour the receiver's Retry-After, and end at the eighth", async () => {
  const { store, pass } = inMemory();
  const outbox = recordOutbox();
  const deliver = createDelivery(store, outbox);
  const receiver = await startReceiver(404);
  let next: Webhook | undefined = webhook(receiver);
  while (next !== undefined) {
    const { length } = outbox.retries;
    await deliver(next);
    pass(200);
    next = outbox.retries[length]?.webhook;
  }
  const delays = outbox.retries.map(({ afterMs }) => afterMs / 1_000);
  expect(delays).toEqual([5, 10, 20, 40, 80, 160, 320]);
  expect(outbox.givenUp).toEqual([{ ...webhook(receiver), sent: 8 }]);

  receiver.answer = { status: 429, retryAfter: "60" };
  await deliver(webhook(receiver));
  pass(200);
  expect(outbox.retries.at(-1)?.afterMs).toBe(60_000);
  receiver.answer = { status: 429, retryAfter: "86400" };
  await deliver(webhook(receiver));
  expect(outbox.retries.at(-1)?.afterMs).toBe(3_600_000);
});
