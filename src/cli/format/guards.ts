import type { BudgetView, Execution, LedgerPage, ListedQuota, QuotaView } from "../../contract/replies.ts";
import type { Terminal } from "../terminal.ts";
import { bar } from "./bar.ts";
import { printFields, printTable } from "./table.ts";
import { oneLine } from "./text.ts";
import { length, readable, relative, when } from "./times.ts";

/** Budgets and quotas for a person. */

const amountsText = (amounts: Record<string, number>): string =>
	Object.entries(amounts)
		.map(([name, amount]) => `${name} ${amount}`)
		.join(", ");

const limitText = (limit: number | undefined): string => (limit === undefined ? "" : String(limit));

export const usedText = ({ dimensions }: BudgetView): string =>
	Object.entries(dimensions)
		.map(([name, { used, hard, exhausted }]) => {
			const of = hard === undefined ? "" : `/${hard}`;
			return `${name} ${used}${of}${exhausted ? " exhausted" : ""}`;
		})
		.join(", ");

export function printBudgets(terminal: Terminal, budgets: readonly BudgetView[], now: number): void {
	printTable(
		terminal,
		[
			{ title: "BUDGET", cell: ({ id }) => id, least: 10 },
			{ title: "USED", cell: usedText, least: 20 },
			{ title: "WAITING", cell: ({ waiting }) => String(waiting), align: "right" },
			{ title: "REFUSED", cell: ({ breachCount }) => String(breachCount), align: "right" },
			{ title: "ON HARD", cell: ({ onHard }) => onHard },
			{ title: "RESETS", cell: ({ nextResetAt }) => (nextResetAt === undefined ? "" : relative(nextResetAt, now)) },
		],
		budgets,
	);
}

export function printBudget(
	terminal: Terminal,
	budget: BudgetView,
	entries: LedgerPage["entries"],
	waiting: readonly Execution[],
	now: number,
): void {
	const { lastBreachAt, nextResetAt, resetEvery } = budget;
	const every = typeof resetEvery === "number" ? `every ${length(resetEvery)}` : resetEvery;
	printFields(terminal, [
		["id", budget.id],
		["namespace", budget.namespace],
		["on hard", budget.onHard],
		["resets", nextResetAt === undefined ? undefined : `${every}, next ${when(nextResetAt, now)}`],
		["refused", `${budget.breachCount}, over a soft limit ${budget.softBreachCount}`],
		[
			"last refused",
			lastBreachAt === undefined ? undefined : `${budget.lastBreachDimension}, ${when(lastBreachAt, now)}`,
		],
		[
			"labels",
			Object.entries(budget.labels)
				.map(([key, value]) => `${key}=${oneLine(value)}`)
				.join(", "),
		],
		["created", when(budget.createdAt, now)],
		["waiting", String(budget.waiting)],
	]);
	const dimensions = Object.entries(budget.dimensions);
	if (dimensions.length > 0) {
		terminal.print();
		printTable(
			terminal,
			[
				{ title: "DIMENSION", cell: ([name]) => name },
				{ title: "USED", cell: ([, { used }]) => String(used), align: "right" },
				{ title: "RESERVED", cell: ([, { reserved }]) => String(reserved), align: "right" },
				{ title: "SOFT", cell: ([, { soft }]) => limitText(soft), align: "right" },
				{ title: "HARD", cell: ([, { hard }]) => limitText(hard), align: "right" },
				{
					title: "",
					cell: ([, { used, reserved, hard }]) => (hard === undefined ? "" : bar((100 * (used + reserved)) / hard)),
				},
				{
					title: "",
					cell: ([, { exhausted }]) => (exhausted ? "exhausted" : ""),
					paint: (text) => terminal.style("red", text),
				},
			],
			dimensions,
		);
	}
	if (entries.length > 0) {
		terminal.print();
		printLedger(terminal, entries, now);
	}
	printWaiting(terminal, waiting, budget.waiting, now);
}

export function printLedger(terminal: Terminal, entries: LedgerPage["entries"], now: number): void {
	printTable(
		terminal,
		[
			{ title: "SPENT BY", cell: ({ executionId }) => executionId ?? "(nobody in particular)", isId: true },
			{ title: "LAST REPORT", cell: ({ reportedAt }) => relative(reportedAt, now) },
			{ title: "SPENT", cell: ({ dims }) => amountsText(dims) },
			{ title: "RESERVED", cell: ({ reserved }) => (reserved ? amountsText(reserved) : "") },
		],
		entries,
	);
}

const rateText = ({ rate }: ListedQuota): string =>
	rate ? `${rate.counted}/${rate.max} in ${length(rate.windowMs)}` : "";

const slotsText = ({ concurrency }: ListedQuota): string =>
	concurrency ? `${concurrency.held}/${concurrency.max}` : "";

export function printQuotas(terminal: Terminal, quotas: readonly ListedQuota[]): void {
	printTable(
		terminal,
		[
			{ title: "QUOTA", cell: ({ id }) => id },
			{ title: "SLOTS", cell: slotsText, align: "right" },
			{ title: "RATE", cell: rateText, align: "right" },
			{ title: "WAITING", cell: ({ waiting }) => String(waiting), align: "right" },
		],
		quotas,
	);
}

export function printQuota(terminal: Terminal, quota: QuotaView, waiting: readonly Execution[], now: number): void {
	printFields(terminal, [
		["id", quota.id],
		["namespace", quota.namespace],
		["slots", slotsText(quota)],
		["kept", quota.holdWhileSuspended ? "while suspended" : undefined],
		["rate", rateText(quota)],
		["jitter", quota.jitterMs > 0 ? length(quota.jitterMs) : undefined],
		["created", when(quota.createdAt, now)],
		["waiting", String(quota.waiting)],
	]);
	if (quota.holders.length > 0) {
		terminal.print();
		printTable(
			terminal,
			[
				{ title: "HELD BY", cell: ({ executionId }) => executionId, isId: true },
				{ title: "SINCE", cell: ({ since }) => relative(since, now) },
				{
					title: "UNDER",
					cell: ({ leaseId, grantId, suspensionId }) => leaseId ?? grantId ?? suspensionId ?? "",
					isId: true,
				},
			],
			quota.holders,
		);
		if (quota.holdersMore > 0) terminal.print(`and ${quota.holdersMore} more`);
	}
	printWaiting(terminal, waiting, quota.waiting, now);
}

function printWaiting(terminal: Terminal, waiting: readonly Execution[], all: number, now: number): void {
	if (waiting.length === 0) return;
	terminal.print();
	printTable(
		terminal,
		[
			{ title: "WAITING", cell: ({ id }) => id, isId: true },
			{ title: "SINCE", cell: ({ blockedAt, createdAt }) => relative(blockedAt ?? createdAt, now) },
			{ title: "WHY", cell: ({ blockingDetail }) => readable(blockingDetail, now), least: 24 },
			{ title: "KIND", cell: ({ kind }) => kind, least: 8 },
		],
		waiting,
	);
	if (all > waiting.length) terminal.print(`and ${all - waiting.length} more`);
}
