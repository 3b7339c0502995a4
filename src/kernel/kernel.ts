import { readRecord } from "./inspect.ts";
import type { Outcome } from "./outcome.ts";
import type { Placement } from "./placement.ts";
import { isBusy, placement } from "./record-types.ts";
import { addChildren } from "./rules/add-children.ts";
import { announce, withdraw } from "./rules/announce.ts";
import { appendFrames } from "./rules/append-frames.ts";
import { block, unblock } from "./rules/block.ts";
import { breach, breachTold } from "./rules/breach.ts";
import { cancel } from "./rules/cancel.ts";
import { cancelFlow, deleteFlow, dropFlow } from "./rules/cancel-flow.ts";
import { changeLane, confirmLane, copyLane } from "./rules/change-lane.ts";
import { changePriority } from "./rules/change-priority.ts";
import { checkFence } from "./rules/check-fence.ts";
import { claim } from "./rules/claim.ts";
import { complete } from "./rules/complete.ts";
import { create } from "./rules/create.ts";
import { buildFlow, createFlow, showFlow } from "./rules/create-flow.ts";
import { createMany } from "./rules/create-many.ts";
import { createWaitpoint } from "./rules/create-waitpoint.ts";
import { createBudget, deleteBudget, patchBudget, resetBudget } from "./rules/define-budget.ts";
import { createQuota, deleteQuota, patchQuota } from "./rules/define-quota.ts";
import { fail } from "./rules/fail.ts";
import { acceptGrant, grant } from "./rules/grant.ts";
import { addEdge, addMember, sealFlow, setGroup } from "./rules/grow-flow.ts";
import { delay, release } from "./rules/hand-back.ts";
import { freeKey, holdKey } from "./rules/hold-key.ts";
import { installCursorKey } from "./rules/install-cursor-key.ts";
import { looked } from "./rules/looked.ts";
import { noteTrim } from "./rules/note-trim.ts";
import { probeWrite } from "./rules/probe-write.ts";
import { progress } from "./rules/progress.ts";
import { recordStep } from "./rules/record-step.ts";
import { recount } from "./rules/recount.ts";
import { beat, registerWorker, removeWorker } from "./rules/register-worker.ts";
import { releaseSpend } from "./rules/release-spend.ts";
import { remove } from "./rules/remove.ts";
import { renew } from "./rules/renew.ts";
import { replay } from "./rules/replay.ts";
import { reportUsage } from "./rules/report-usage.ts";
import { reserve, takeBack } from "./rules/reserve.ts";
import { resume } from "./rules/resume.ts";
import { revokeLease } from "./rules/revoke-lease.ts";
import { installKeyring, rotateSecret } from "./rules/rotate-secret.ts";
import { setTags } from "./rules/set-tags.ts";
import { sent, settle } from "./rules/settle.ts";
import { approve, signal } from "./rules/signal.ts";
import { suspend } from "./rules/suspend.ts";
import { tick } from "./rules/tick.ts";
import { waitChildren } from "./rules/wait-children.ts";
import type { Tx } from "./tx.ts";

/** Every rule, by the name of its command. */
const rules = {
	create,
	createMany,
	claim,
	grant,
	acceptGrant,
	renew,
	complete,
	fail,
	delay,
	release,
	progress,
	recordStep,
	addChildren,
	waitChildren,
	appendFrames,
	suspend,
	createWaitpoint,
	signal,
	approve,
	resume,
	cancel,
	revokeLease,
	changePriority,
	setTags,
	replay,
	delete: remove,
	tick,
	registerWorker,
	beat,
	removeWorker,
	changeLane,
	copyLane,
	confirmLane,
	checkFence,
	createBudget,
	patchBudget,
	deleteBudget,
	resetBudget,
	reportUsage,
	releaseSpend,
	createQuota,
	patchQuota,
	deleteQuota,
	reserve,
	takeBack,
	settle,
	sent,
	looked,
	recount,
	breach,
	breachTold,
	block,
	unblock,
	noteTrim,
	probeWrite,
	announce,
	withdraw,
	installKeyring,
	installCursorKey,
	rotateSecret,
	createFlow,
	buildFlow,
	showFlow,
	dropFlow,
	holdKey,
	freeKey,
	addMember,
	addEdge,
	setGroup,
	sealFlow,
	cancelFlow,
	deleteFlow,
};

export type Rules = typeof rules;
export type Op = keyof Rules;
export type CommandOf<O extends Op> = Parameters<Rules[O]>[1];
export type OutcomeOf<O extends Op> = ReturnType<Rules[O]>;
/** Any command; what it is answered follows from its name. */
export type Command = CommandOf<Op>;

/** All an engine needs to know of the rules: how to run a command, where records are queued, how to read them. */
export interface Kernel {
	rules: Rules;
	placement(key: string, record: object): Placement[];
	/** Throws `UnreadableRecord`, which names the field. */
	decode(key: string, doc: string): object;
	/** Whether commands are likely to come for a record; an engine need not remember the others. */
	isBusy(key: string, record: object): boolean;
	/** Whether there is more to be done and kept after such a command: where there is no room, it is refused first. */
	startsWork(op: Op): boolean;
}

const starting: ReadonlySet<Op> = new Set<Op>([
	"create",
	"createMany",
	"claim",
	"grant",
	"acceptGrant",
	"replay",
	"createBudget",
	"createQuota",
	"createFlow",
	"buildFlow",
	"addMember",
	"addEdge",
	"addChildren",
	"probeWrite",
]);

export const kernel: Kernel = {
	rules,
	placement,
	decode: readRecord,
	isBusy,
	startsWork: (op) => starting.has(op),
};

/** A rule and its command always fit each other, which the compiler cannot follow through a table. */
type AnyRule = (tx: Tx, command: Command, now: number) => Outcome;

export const runRule = ({ rules: all }: Kernel, tx: Tx, command: Command, now: number): Outcome =>
	(all[command.op] as AnyRule)(tx, command, now);
