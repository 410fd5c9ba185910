import { memoryStore, readPolicy } from "@headgate/core";
import type { Registry, SubjectSource } from "@headgate/core/admin";
import { readRegistry } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const client = new Redis({ lazyConnect: true });
export const ofStore: Promise<Registry> = readRegistry(redisStore(client), { timeout: "1s" });
export const ofMemory: Promise<Registry> = readRegistry(memoryStore());

/** Shows how a tool reads the source of a subject. */
function headerOf(source: SubjectSource): string | undefined {
  return source.by === "header" ? source.name : undefined;
}

void readRegistry(client, { prefix: "shop" }).then(
  ({ limiters, breakers, processes, unreadable }) => {
    for (const { name, limits, uses, hasOtherVersions } of limiters) {
      console.log(name.trim(), readPolicy(limits), hasOtherVersions === true);
      for (const { keys } of uses) console.log(Object.values(keys).map(headerOf));
    }
    console.log(breakers[0]?.options["window"], processes[0]?.seenAt.toFixed());
    // @ts-expect-error why is one of four
    console.log(unreadable.filter(({ reason }) => reason === "expired"));
  },
);
// @ts-expect-error a misspelt option
void readRegistry(client, { prefxi: "shop" });
redisStore(client, { registry: false });
