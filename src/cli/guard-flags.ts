import { type Command, InvalidArgumentError } from "commander";
import { MAX_AMOUNT } from "../contract/guards.ts";
import type { Execution } from "../contract/replies.ts";
import type { FlowFabric } from "../library/flowfabric.ts";
import { asksServer, type ServerFlags } from "./connection.ts";
import { duration, lacksUnit, unitAsked, wholeNumber } from "./settings/values.ts";

/** What the commands about budgets and quotas have in common. */
export interface GuardFlags extends ServerFlags {
	namespace?: string;
}

export const tenant = ({ namespace }: GuardFlags): { namespace?: string } =>
	namespace === undefined ? {} : { namespace };

/** A command below `budgets` or `quotas`. */
export const subcommand = (parent: Command, usage: string, summary: string): Command =>
	asksServer(
		parent
			.command(usage)
			.summary(summary)
			.description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
			.option("--namespace <namespace>", "in this namespace"),
	);

/** What takes something away. A flag that were read as null would be taken for one without a value. */
export const NONE = "none";

export const orNull = <V>(value: V | typeof NONE): V | null => (value === NONE ? null : (value as V));

const amount = wholeNumber(0, MAX_AMOUNT);
const limit = wholeNumber(1, MAX_AMOUNT);

/** `tokens=100`, given any number of times. */
export function amountFlag(text: string, before: Record<string, number> = {}): Record<string, number> {
	const [name, value] = split(text);
	const parsed = amount(value);
	if (parsed === undefined)
		throw new InvalidArgumentError(`must be dimension=amount, an integer of 0 to ${MAX_AMOUNT}`);
	return { ...before, [name]: parsed };
}

/** `tokens=100`, or `tokens=none` for no limit, given any number of times. */
export function limitFlag(text: string, before: Record<string, number | null> = {}): Record<string, number | null> {
	const [name, value] = split(text);
	const parsed = value === NONE ? null : limit(value);
	if (parsed === undefined)
		throw new InvalidArgumentError(`must be dimension=limit, an integer of 1 to ${MAX_AMOUNT}, or dimension=none`);
	return { ...before, [name]: parsed };
}

function split(text: string): [name: string, value: string] {
	const at = text.indexOf("=");
	if (at < 1) throw new InvalidArgumentError("must be dimension=number");
	return [text.slice(0, at), text.slice(at + 1)];
}

/** Something given any number of times. */
export const listFlag = (text: string, before: string[] = []): string[] => [...before, text];

/** `daily`, `monthly`, a length of time, or `none`. */
export function resetFlag(text: string): number | "daily" | "monthly" | typeof NONE {
	if (text === NONE || text === "daily" || text === "monthly") return text;
	if (lacksUnit(text)) throw new InvalidArgumentError(unitAsked(text));
	const every = duration(text);
	if (every === undefined) throw new InvalidArgumentError("must be daily, monthly, none, or a time such as 1h");
	return every;
}

/** `100/1s`, or `none`. */
export function rateFlag(text: string): { max: number; windowMs: number } | typeof NONE {
	if (text === NONE) return text;
	const [count = "", window = ""] = text.split("/");
	if (lacksUnit(window)) throw new InvalidArgumentError(`the time ${unitAsked(window)}`);
	const max = limit(count);
	const windowMs = duration(window);
	if (max === undefined || windowMs === undefined)
		throw new InvalidArgumentError("must be <number>/<time>, such as 100/1s, or none");
	return { max, windowMs };
}

export function concurrencyFlag(text: string): number | typeof NONE {
	if (text === NONE) return text;
	const value = limit(text);
	if (value === undefined) throw new InvalidArgumentError(`must be an integer of 1 to ${MAX_AMOUNT}, or none`);
	return value;
}

/** How many of what waits are shown, and in how many pages of a list they are looked for. */
const MOST_WAITING = 10;
const MOST_PAGES = 5;

/** Some of the executions that wait for a budget or quota, those created last. */
export async function someWaiting(
	ff: FlowFabric,
	kind: "budget" | "quota",
	{ id, namespace, waiting }: { id: string; namespace: string; waiting: number },
): Promise<Execution[]> {
	const found: Execution[] = [];
	const wanted = Math.min(waiting, MOST_WAITING);
	const start = `${kind} ${id}:`;
	let cursor: { cursor?: string } = {};
	for (let pages = 0; found.length < wanted && pages < MOST_PAGES; pages++) {
		const page = await ff.list({ namespace, state: "rate_limited", limit: 200, ...cursor });
		for (const each of page.executions) if (each.blockingDetail.startsWith(start)) found.push(each);
		if (page.nextCursor === undefined) break;
		cursor = { cursor: page.nextCursor };
	}
	return found.slice(0, MOST_WAITING);
}
