import type { Engine } from "../../src/engine/engine.ts";
import type { Kernel, Rules } from "../../src/kernel/kernel.ts";
import { type ExecutionRecord, partsOf } from "../../src/kernel/records/execution.ts";
import { amend } from "../../src/kernel/records/record.ts";
import { type SuspensionRecord, suspensionKey } from "../../src/kernel/records/suspension.ts";
import { type WaitpointRecord, waitpointKey, waitpointNameKey } from "../../src/kernel/records/waitpoint.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { bent, isExecution, type Misreading, type Miswriting, reading, writing } from "./bent-tx.ts";

/** Bugs that rules about suspensions, waitpoints, signals and steps can have, and the way tokens are checked. */
export interface SuspensionBugs {
	resumedTwice?: boolean;
	signalCountsAgain?: boolean;
	closedWaitpointTakes?: boolean;
	oldTokenReachesNewer?: boolean;
	tokenNotCompared?: boolean;
	earlySignalsLost?: boolean;
	timeoutAfterResume?: boolean;
	timeoutNeverComes?: boolean;
	waitpointMadeAnew?: boolean;
	distinctnessIgnored?: boolean;
	waitpointsStayOpen?: boolean;
	waitedForAgain?: boolean;
	stepOverwritten?: boolean;
	partsStayBehind?: boolean;
	keptSlotLost?: boolean;
}

type AnyRule = (tx: Tx, command: never, now: number) => unknown;

export function withSuspensionBugs(kernel: Kernel, bugs: SuspensionBugs): Kernel {
	const { rules } = kernel;
	const changed = { ...rules };
	/** These rules see, and do, what `through` makes of it. */
	const through = (ops: readonly (keyof Rules)[], bend: (tx: Tx) => Tx) => {
		for (const op of ops) {
			const rule = changed[op] as AnyRule;
			const crooked: AnyRule = (tx, command, now) => rule(bend(tx), command, now);
			Object.assign(changed, { [op]: crooked });
		}
	};
	if (bugs.resumedTwice) through(["resume"], (tx) => writing(reading(tx, stillWaiting), executionsOnly));
	if (bugs.signalCountsAgain) through(["signal"], (tx) => without(tx, "d"));
	if (bugs.closedWaitpointTakes) through(["signal"], (tx) => reading(tx, openAgain));
	if (bugs.oldTokenReachesNewer)
		changed.signal = (tx, command, now) =>
			rules.signal(tx, { ...command, waitpointId: latestLike(tx, command.waitpointId) }, now);
	if (bugs.earlySignalsLost) through(["suspend"], withoutEarlySignals);
	if (bugs.timeoutAfterResume) through(["signal", "approve", "resume"], keepingTimeout);
	if (bugs.timeoutNeverComes)
		changed.tick = (tx, command, now) =>
			waits(tx, command.key) ? { ok: true, again: now + 500 } : rules.tick(tx, command, now);
	if (bugs.waitpointMadeAnew) through(["suspend", "createWaitpoint"], forgetfulAfterReclaim);
	if (bugs.distinctnessIgnored) through(["suspend", "signal", "approve"], (tx) => without(tx, "v"));
	if (bugs.waitpointsStayOpen) through(["signal", "approve", "resume", "tick"], leavingOpen);
	if (bugs.waitedForAgain) through(["suspend"], (tx) => without(tx, "k"));
	if (bugs.stepOverwritten) through(["recordStep"], (tx) => without(tx, "p"));
	if (bugs.partsStayBehind) through(["delete", "tick"], keepingParts);
	if (bugs.keptSlotLost) through(["complete", "cancel", "tick"], (tx) => reading(tx, withoutKept));
	return { ...kernel, rules: changed };
}

/** Any token of a key that is known opens every waitpoint. */
export function plantInTokens({ tokens, keyring }: Engine, { tokenNotCompared }: SuspensionBugs): void {
	if (!tokenNotCompared) return;
	tokens.verify = async (subject, token) =>
		subject && (await keyring.find(token.slice(0, token.indexOf(".")))) ? "valid" : "invalid";
}

/** Parts of an execution of this kind are not found. */
function without(tx: Tx, kind: string): Tx {
	const isHidden = (key: string) => key.startsWith("ex_") && key[key.indexOf("/") + 1] === kind && key.includes("/");
	const get = (key: string) => (isHidden(key) ? undefined : tx.get<object>(key));
	const getFresh = (key: string) => (isHidden(key) ? void tx.getFresh(key) : tx.getFresh<object>(key));
	return bent(tx, { get, getReadable: get, getFresh });
}

/** Work that went on is taken to wait for what it waited for last. */
const stillWaiting: Misreading = (key, record, tx) => {
	if (!record || !key.startsWith("ex_")) return undefined;
	if (isExecution(key)) {
		const execution = record as ExecutionRecord;
		const number = partsOf(execution).suspensions;
		const { id = "", since = 0 } = tx.get(suspensionKey(key, number)) ?? {};
		if (execution.lifecyclePhase !== "runnable" || execution.grant || id === "") return undefined;
		return { as: amend(execution, { suspension: { number, id, since } }) };
	}
	return key[key.indexOf("/") + 1] === "u"
		? { as: amend(record as SuspensionRecord, { endedAt: 0, endedBy: "" }) }
		: undefined;
};

const executionsOnly: Miswriting = (key, record) => (isExecution(key) ? record : null);

const openAgain: Misreading = (key, record) =>
	record && key.startsWith("wp_") ? { as: amend(record as WaitpointRecord, { closedAt: 0, closedBy: "" }) } : undefined;

/** The newest waitpoint that has the key of this one. */
function latestLike(tx: Tx, waitpointId: string): string {
	const waitpoint = tx.get(waitpointKey(waitpointId));
	if (!waitpoint) return waitpointId;
	const { executionId, generation, key } = waitpoint;
	return tx.get(waitpointNameKey(executionId, generation, key))?.id ?? waitpointId;
}

const withoutEarlySignals = (tx: Tx): Tx =>
	bent(tx, {
		all: (queue: string, guard: string, most?: number) =>
			queue.includes("buffered,") ? [] : tx.all(queue, guard, most),
	});

/** What goes on is still due to time out. */
const keepingTimeout = (tx: Tx): Tx =>
	writing(tx, (key, record) => {
		if (!isExecution(key) || (record as ExecutionRecord).lifecyclePhase !== "runnable") return record;
		const { suspension = null } = tx.get<ExecutionRecord>(key) ?? {};
		return suspension?.timeoutAt === undefined ? record : amend(record as ExecutionRecord, { suspension });
	});

const waits = (tx: Tx, key: string): boolean =>
	isExecution(key) && tx.get<ExecutionRecord>(key)?.lifecyclePhase === "suspended";

/** Once somebody has lost the work, its waitpoints are not found by their keys. */
function forgetfulAfterReclaim(tx: Tx): Tx {
	let isReclaimed = false;
	const get = (key: string) => {
		const record = tx.get<object>(key);
		if (isExecution(key)) isReclaimed = ((record as ExecutionRecord | undefined)?.reclaims ?? 0) > 0;
		return isReclaimed && /^ex_\w+\/n/.test(key) ? undefined : record;
	};
	return bent(tx, { get, getReadable: get });
}

const leavingOpen = (tx: Tx): Tx =>
	writing(tx, (key, record) =>
		key.startsWith("wp_") && (record as WaitpointRecord).closedBy === "suspension" ? null : record,
	);

const withoutKept: Misreading = (key, record) =>
	record && isExecution(key) ? { as: amend(record as ExecutionRecord, { kept: null }) } : undefined;

const keepingParts = (tx: Tx): Tx => bent(tx, { remove: (key: string) => key.startsWith("wp_") || tx.remove(key) });
