import type { ControlRecord, Order, Override } from "@headgate/core/operate";
import { readRecord } from "@headgate/core/operate";

const record: ControlRecord | undefined = readRecord("");
const orders: readonly Order[] = record?.orders ?? [];

export const overrides: readonly Override[] = record?.overrides ?? [];

// @ts-expect-error a kind that there is not
export const order: Order | undefined = orders.find(({ kind }) => kind === "forget");
