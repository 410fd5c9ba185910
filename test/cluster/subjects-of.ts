import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";

let last = 0;
let lastBeside = 0;

/** New subjects that a node serves. A key's slot is its subject's, which its braces enclose. */
export async function subjectsOf(
  cluster: RedisCluster,
  node: ClusterNode,
  count: number,
): Promise<readonly string[]> {
  const subjects: string[] = [];
  while (subjects.length < count) {
    last += 1;
    const subject = `subject-${last}`;
    if ((await cluster.nodeOf(subject)) === node) subjects.push(subject);
  }
  return subjects;
}

/** New subjects that are in one hash slot of a node. */
export async function subjectsOfOneSlot(
  cluster: RedisCluster,
  node: ClusterNode,
  count: number,
): Promise<readonly string[]> {
  const subjects = [...(await subjectsOf(cluster, node, 1))];
  const slot = await cluster.slotOf(subjects[0] as string);
  while (subjects.length < count) {
    const others = Array.from({ length: 1_000 }, (_, i) => `beside-${lastBeside + 1 + i}`);
    lastBeside += others.length;
    const slots = await Promise.all(others.map((other) => cluster.slotOf(other)));
    subjects.push(...others.filter((_, i) => slots[i] === slot));
  }
  return subjects.slice(0, count);
}

/** A new subject on each primary, in their order. */
export async function subjectOnEach(cluster: RedisCluster): Promise<readonly string[]> {
  const primaries = cluster.nodes.filter((node) => node.startedAs === "primary");
  const found: string[] = [];
  for (const node of primaries) found.push(...(await subjectsOf(cluster, node, 1)));
  return found;
}
