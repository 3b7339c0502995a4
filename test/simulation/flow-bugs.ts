import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Kernel, Rules } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord, Group } from "../../src/kernel/records/execution.ts";
import type { FlowProgressRecord, FlowRecord } from "../../src/kernel/records/flow.ts";
import type { LinksRecord } from "../../src/kernel/records/links.ts";
import { amend } from "../../src/kernel/records/record.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { bent, isExecution, type Misreading, type Miswriting, reading, writing } from "./bent-tx.ts";

/** Bugs that rules about flows can have, and whoever reads flows. */
export interface FlowBugs {
	runsEarly?: boolean;
	skipsEarly?: boolean;
	endUnheard?: boolean;
	sealUnheard?: boolean;
	lateEdgeUnresolved?: boolean;
	latestResultPassed?: boolean;
	replayNotCounted?: boolean;
	startsAfterCancel?: boolean;
	cancelNotSpread?: boolean;
	replayReopensNothing?: boolean;
	failureForgotten?: boolean;
	sparedIsFailure?: boolean;
	remainingRunOn?: boolean;
	edgesStayBehind?: boolean;
	flowsFromCache?: boolean;
}

type AnyRule = (tx: Tx, command: never, now: number) => unknown;

const isFlow = (key: string): boolean => key.startsWith("fl_") && !key.includes("/");
const isProgress = (key: string): boolean => /^fl_\w+\/p$/.test(key);
const isLinks = (key: string): boolean => /^ex_\w+\/e\d+$/.test(key);

/** Rules by which members end. */
const ENDING: readonly (keyof Rules)[] = ["complete", "fail", "cancel", "tick"];
const STARTING: readonly (keyof Rules)[] = ["claim", "grant", "acceptGrant", "settle"];

export function withFlowBugs(kernel: Kernel, bugs: FlowBugs): Kernel {
	const { rules } = kernel;
	const changed = { ...rules };
	/** These rules see, and do, what `bend` makes of it. */
	const through = (ops: readonly (keyof Rules)[], bend: (tx: Tx) => Tx) => {
		for (const op of ops) {
			const rule = changed[op] as AnyRule;
			const crooked: AnyRule = (tx, command, now) => rule(bend(tx), command, now);
			Object.assign(changed, { [op]: crooked });
		}
	};
	const everywhere = Object.keys(rules) as (keyof Rules)[];
	if (bugs.runsEarly) through(ENDING, countingOneMore);
	if (bugs.skipsEarly) through(["fail"], (tx) => misgrouped(tx, (group) => ({ ...group, policy: "all_of" })));
	if (bugs.endUnheard) through(["complete"], (tx) => reading(tx, withoutOuts));
	if (bugs.sealUnheard) through(["sealFlow"], (tx) => writing(tx, withFlow({ sealFrom: 0 })));
	if (bugs.lateEdgeUnresolved) through(["addEdge"], takingToRun);
	if (bugs.latestResultPassed) through(everywhere, (tx) => writing(tx, withoutAttempts));
	if (bugs.replayNotCounted) through(["replay"], keepingCount);
	if (bugs.startsAfterCancel) through(STARTING, (tx) => reading(tx, uncancelled));
	if (bugs.cancelNotSpread) through(["cancelFlow"], (tx) => writing(tx, withFlow({ cancelFrom: 0 })));
	if (bugs.replayReopensNothing) through(["replay"], (tx) => reading(tx, withoutOuts));
	if (bugs.failureForgotten) through(everywhere, (tx) => writing(tx, unfailed));
	if (bugs.sparedIsFailure) through(everywhere, (tx) => writing(tx, unspared));
	if (bugs.remainingRunOn) through(ENDING, (tx) => misgrouped(tx, ({ cancelsRemaining: _, ...group }) => group));
	if (bugs.edgesStayBehind)
		through(["deleteFlow", "tick"], (tx) => bent(tx, { remove: (key: string) => isLinks(key) || tx.remove(key) }));
	return { ...kernel, rules: changed };
}

const regrouped = (record: object, change: (group: Group) => Group): object => {
	const { member } = record as ExecutionRecord;
	return member ? amend(record as ExecutionRecord, { member: { ...member, group: change(member.group) } }) : record;
};

/** Of those that wait for two or more, one counts as satisfied before it is; how many are is stored as it should be. */
function countingOneMore(tx: Tx): Tx {
	const wantsTwo = ({ policy, edges, satisfied }: Group) => policy === "all_of" && edges - satisfied >= 2;
	const adding = (more: number) => (group: Group) => ({ ...group, satisfied: group.satisfied + more });
	const misread: Misreading = (key, record) => {
		const { group } = (isExecution(key) && (record as ExecutionRecord | undefined)?.member) || {};
		return record && group && wantsTwo(group) ? { as: regrouped(record, adding(1)) } : undefined;
	};
	const restore: Miswriting = (key, record) => {
		const before = isExecution(key) ? tx.get<ExecutionRecord>(key)?.member?.group : undefined;
		return before && wantsTwo(before) ? regrouped(record, adding(-1)) : record;
	};
	return writing(reading(tx, misread), restore);
}

/** What members wait for is taken to be something else; what is stored of it stays as it was. */
function misgrouped(tx: Tx, mistake: (group: Group) => Group): Tx {
	const misread: Misreading = (key, record) =>
		record && isExecution(key) ? { as: regrouped(record, mistake) } : undefined;
	const restore: Miswriting = (key, record) => {
		const before = isExecution(key) ? tx.get<ExecutionRecord>(key)?.member?.group : undefined;
		if (!before) return record;
		const { policy, quorum, cancelsRemaining } = before;
		const terms = { policy, ...(quorum && { quorum }), ...(cancelsRemaining && { cancelsRemaining }) };
		return regrouped(record, ({ edges, satisfied, impossible }) => ({ ...terms, edges, satisfied, impossible }));
	};
	return writing(reading(tx, misread), restore);
}

const withoutOuts: Misreading = (key, record) =>
	record && isLinks(key) ? { as: amend(record as LinksRecord, { outs: 0 }) } : undefined;

const withFlow =
	(changes: Partial<FlowRecord>): Miswriting =>
	(key, record) =>
		isFlow(key) ? amend(record as FlowRecord, changes) : record;

const stillRunning: Misreading = (key, record) =>
	record && isExecution(key) && (record as ExecutionRecord).lifecyclePhase === "terminal"
		? { as: amend(record as ExecutionRecord, { lifecyclePhase: "suspended" }) }
		: undefined;

/** What has ended is taken to run; it is not written so. */
const takingToRun = (tx: Tx): Tx =>
	writing(reading(tx, stillRunning), (key, record) => {
		const { lifecyclePhase } = (isExecution(key) ? tx.get<ExecutionRecord>(key) : undefined) ?? {};
		return lifecyclePhase ? amend(record as ExecutionRecord, { lifecyclePhase }) : record;
	});

/** By which attempt an upstream ended is not noted. */
const withoutAttempts: Miswriting = (key, record) =>
	isLinks(key)
		? amend(record as LinksRecord, { in: (record as LinksRecord).in.map(({ attempt: _, ...edge }) => edge) })
		: record;

const keepingCount = (tx: Tx): Tx =>
	writing(tx, (key, record) => {
		const { ended } = (isProgress(key) ? tx.get<FlowProgressRecord>(key) : undefined) ?? {};
		return ended === undefined ? record : amend(record as FlowProgressRecord, { ended });
	});

const uncancelled: Misreading = (key, record) =>
	record && isFlow(key) ? { as: amend(record as FlowRecord, { cancel: null }) } : undefined;

const unfailed: Miswriting = (key, record) =>
	isFlow(key) && (record as FlowRecord).outcome === "failed"
		? amend(record as FlowRecord, { outcome: "completed" })
		: record;

const unspared: Miswriting = (key, record) => {
	const { cancel } = record as ExecutionRecord;
	if (!isExecution(key) || !cancel?.isSpared) return record;
	const { isSpared: _, ...plain } = cancel;
	return amend(record as ExecutionRecord, { cancel: plain });
};

/** Whoever asks for a flow again is given what it was given first. */
export function plantInFlows({ flows }: LocalBackend, { flowsFromCache }: FlowBugs): void {
	if (!flowsFromCache) return;
	const { get } = flows;
	const seen = new Map<string, ReturnType<typeof get>>();
	flows.get = (id) => {
		const known = seen.get(id) ?? get.call(flows, id);
		seen.set(id, known);
		return known;
	};
}
