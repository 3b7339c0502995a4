import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "iovalkey";
import { partitionTags, slotOf } from "../../src/store/valkey/slots.ts";
import type { BedNode } from "./beds.ts";

/** The slot of a partition. */
export const slotOfPartition = (partition: number, partitions: number): number =>
	slotOf(String(partitionTags(partitions)[partition]));

/**
 * Moves a slot to another node as an operator would, key by key, taking at least so long over it. Keys that commits
 * make meanwhile are moved too, until the old node has none.
 */
export async function migrateSlot(slot: number, from: BedNode, to: BedNode, nodes: readonly BedNode[], ms: number) {
	const clients = new Map(nodes.map((node) => [node, new Redis(node.url)]));
	const ask = (node: BedNode, ...command: [string, ...string[]]) => (clients.get(node) as Redis).call(...command);
	const setSlot = (node: BedNode, ...rest: string[]) => ask(node, "CLUSTER", "SETSLOT", String(slot), ...rest);
	try {
		const [source, target] = [String(await ask(from, "CLUSTER", "MYID")), String(await ask(to, "CLUSTER", "MYID"))];
		const total = Number(await ask(from, "CLUSTER", "COUNTKEYSINSLOT", String(slot)));
		await setSlot(to, "IMPORTING", source);
		await setSlot(from, "MIGRATING", target);
		let moved = 0;
		for (;;) {
			const keys = (await ask(from, "CLUSTER", "GETKEYSINSLOT", String(slot), "10")) as string[];
			if (keys.length === 0) break;
			await ask(from, "MIGRATE", "127.0.0.1", String(to.port), "", "0", "5000", "KEYS", ...keys);
			moved += keys.length;
			await sleep((ms * keys.length) / total);
		}
		// The new owner first, so that there is no moment without one.
		for (const node of [to, from, ...nodes.filter((other) => other !== to && other !== from)])
			await setSlot(node, "NODE", target);
		return moved;
	} finally {
		for (const client of clients.values()) client.disconnect();
	}
}
