import { expect, test } from "vitest";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import type { HttpUse, LimiterRecord } from "./record.ts";
import { RegistryEntry } from "./record.ts";

const record: LimiterRecord = {
  kind: "limiter",
  name: "api",
  policy: "policy",
  limits: [],
  shapes: [],
  shadow: false,
  onUnavailable: "local",
  uses: [],
  version: "1.2.3",
};

function useOf(adapter: string): HttpUse {
  return { adapter, keys: { default: { by: "function" } }, missingKey: "ip" };
}

function entryWith(...adapters: readonly string[]): RegistryEntry {
  const entry = new RegistryEntry(record, requireStore(memoryStore()));
  for (const adapter of adapters) entry.addHttpUse(useOf(adapter));
  return entry;
}

function usesIn(entry: RegistryEntry): string[] {
  const { uses } = JSON.parse(entry.toSharedRecord().text) as LimiterRecord;
  return uses.map(({ adapter }) => adapter);
}

test("a record is the same for any order in which adapters used the limiter", () => {
  const entry = entryWith("express", "fastify");
  expect(entry.toSharedRecord()).toEqual(
    entryWith("fastify", "express", "fastify").toSharedRecord(),
  );
  expect(usesIn(entry)).toEqual(["express", "fastify"]);
});

test("a record differs if the limiter is used in another way", () => {
  const entry = entryWith("express");
  const before = entry.toSharedRecord();
  expect(entry.toSharedRecord()).toBe(before);
  entry.addHttpUse(useOf("fastify"));
  expect(entry.toSharedRecord().hash).not.toBe(before.hash);
});

test("a record lists at most 16 uses", () => {
  const adapters = Array.from({ length: 20 }, (_, i) => `adapter ${i}`);
  expect(usesIn(entryWith(...adapters))).toHaveLength(16);
});
