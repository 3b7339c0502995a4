import type { Condition, CountCondition } from "../../src/kernel/suspension/condition.ts";
import type { Random } from "./random.ts";

export const WAITPOINTS = ["w1", "w2", "w3"];
export const SIGNALS = ["go", "ok"];
export const SOURCES = ["ann", "bob", "cy"];

/** Nodes that join others may stand this deep in each other. */
const DEEPEST = 4;

/** Something to wait for at these waitpoints; with a timeout it may be that alone. */
export function someCondition(random: Random, keys: readonly string[], hasTimeout: boolean, depth = 1): Condition {
	if (keys.length === 0) return hasTimeout && random.chance(0.5) ? { timeoutOnly: true } : { operatorOnly: true };
	const joins = depth <= DEEPEST ? 2.5 / depth : 0;
	const form = random.weighted({
		signal: 6,
		anySignal: 2,
		count: 4,
		allOf: joins,
		anyOf: joins,
		operatorOnly: 0.3,
		timeoutOnly: hasTimeout ? 0.3 : 0,
	});
	const at = random.chance(0.6) ? { waitpoint: random.pick(keys) } : {};
	const children = () =>
		Array.from({ length: random.integer(1, 3) }, () => someCondition(random, keys, hasTimeout, depth + 1));
	switch (form) {
		case "signal":
			return { signal: random.pick(SIGNALS), ...at };
		case "anySignal":
			return { anySignal: true, ...at };
		case "count":
			return { count: someCount(random, keys) };
		case "allOf":
			return { allOf: children() };
		case "anyOf":
			return { anyOf: children() };
		case "operatorOnly":
			return { operatorOnly: true };
		case "timeoutOnly":
			return { timeoutOnly: true };
	}
}

function someCount(random: Random, keys: readonly string[]): CountCondition {
	const distinctBy = random.pick(["waitpoint", "signal", "source", "source"] as const);
	const some = random.chance(0.3) ? keys.filter(() => random.chance(0.6)) : [];
	const most = distinctBy === "waitpoint" ? some.length || keys.length : 2;
	return {
		n: random.integer(1, most),
		distinctBy,
		...(some.length > 0 ? { waitpoints: some } : undefined),
		...(random.chance(0.3) && distinctBy !== "signal" ? { match: random.pick(SIGNALS) } : undefined),
	};
}
