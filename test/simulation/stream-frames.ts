import type { AppendFramesRequest } from "../../src/contract/streams.ts";
import type { Held } from "./lease-requests.ts";
import type { Random } from "./random.ts";

export type GivenFrame = AppendFramesRequest["frames"][number];

/**
 * Every frame has a name of its own, which tells under which lease it was sent, and whether its sender waits for an answer
 * before it sends the next: then there is none missing between two that are kept. It is given as the frame's type.
 */
export const frameName = ({ fence }: Held, number: number, isOrderly: boolean): string =>
	`${fence.leaseId}${isOrderly ? "/" : "~"}${number}`;

export function nameOf({ t: name = "" }: { t?: string }): { name: string; leaseId: string; isOrderly: boolean } {
	const [leaseId = ""] = name.split(/[/~]/);
	return { name, leaseId, isOrderly: name.includes("/") };
}

const MEMBERS = ["a", "b", "c"];

/** Anything that can be merged into a document: members set, removed, nested, and now and then something else altogether. */
export function somePatch(random: Random, depth = 0): unknown {
	const kind = random.next();
	if (depth > 0 && kind < 0.5) return random.pick([null, null, 1, "x", [1, null], false]);
	if (depth === 0 && kind < 0.1) return random.pick([[1, { a: null }], "text", 7, {}]);
	const members = MEMBERS.filter(() => random.chance(0.5)).map((name) => [
		name,
		depth < 2 ? somePatch(random, depth + 1) : 2,
	]);
	return Object.fromEntries(members);
}

/** A frame of any mode, without its name and number. */
export function someFrame(random: Random): GivenFrame {
	switch (random.weighted({ durable: 6, summary: 2, best_effort: 2 })) {
		case "durable":
			return random.chance(0.3) ? { payloadBase64: "AAEC" } : { text: "token" };
		case "summary":
			return { mode: "summary", patch: somePatch(random) };
		case "best_effort":
			return {
				mode: "best_effort",
				text: "beat",
				...(random.chance(0.7) ? { ttlMs: random.integer(1, 500) } : undefined),
			};
	}
}
