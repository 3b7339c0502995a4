import { type Placement, placement } from "./placement.ts";
import { readRecord } from "./records/inspect.ts";
import { isBusy } from "./records/record-types.ts";
import {
	type AnnounceCommand,
	type AnnounceOutcome,
	announce,
	type WithdrawCommand,
	type WithdrawOutcome,
	withdraw,
} from "./rules/announce.ts";
import { type CancelCommand, type CancelOutcome, cancel } from "./rules/cancel.ts";
import {
	type ChangeLaneCommand,
	type ChangeLaneOutcome,
	type ConfirmLaneCommand,
	type ConfirmLaneOutcome,
	type CopyLaneCommand,
	type CopyLaneOutcome,
	changeLane,
	confirmLane,
	copyLane,
} from "./rules/change-lane.ts";
import { type ChangePriorityCommand, type ChangePriorityOutcome, changePriority } from "./rules/change-priority.ts";
import { type ClaimCommand, type ClaimOutcome, claim } from "./rules/claim.ts";
import { type CompleteCommand, type CompleteOutcome, complete } from "./rules/complete.ts";
import { type CreateCommand, type CreateOutcome, create } from "./rules/create.ts";
import { type CreateManyCommand, type CreateManyOutcome, createMany } from "./rules/create-many.ts";
import { type FailCommand, type FailOutcome, fail } from "./rules/fail.ts";
import {
	type AcceptGrantCommand,
	type AcceptGrantOutcome,
	acceptGrant,
	type GrantCommand,
	grant,
} from "./rules/grant.ts";
import {
	type DelayCommand,
	type DelayOutcome,
	delay,
	type ReleaseCommand,
	type ReleaseOutcome,
	release,
} from "./rules/hand-back.ts";
import { type NoteTrimCommand, type NoteTrimOutcome, noteTrim } from "./rules/note-trim.ts";
import { type ProbeWriteCommand, type ProbeWriteOutcome, probeWrite } from "./rules/probe-write.ts";
import { type ProgressCommand, type ProgressOutcome, progress } from "./rules/progress.ts";
import {
	type BeatCommand,
	type BeatOutcome,
	beat,
	type RegisterWorkerCommand,
	type RegisterWorkerOutcome,
	type RemoveWorkerCommand,
	type RemoveWorkerOutcome,
	registerWorker,
	removeWorker,
} from "./rules/register-worker.ts";
import { type DeleteCommand, type DeleteOutcome, remove } from "./rules/remove.ts";
import { type RenewCommand, type RenewOutcome, renew } from "./rules/renew.ts";
import { type ReplayCommand, type ReplayOutcome, replay } from "./rules/replay.ts";
import { type RevokeLeaseCommand, type RevokeLeaseOutcome, revokeLease } from "./rules/revoke-lease.ts";
import {
	type BlockRouteCommand,
	blockRoute,
	type RouteOutcome,
	type UnblockRouteCommand,
	unblockRoute,
} from "./rules/route.ts";
import { type SetTagsCommand, type SetTagsOutcome, setTags } from "./rules/set-tags.ts";
import { type TickCommand, type TickOutcome, tick } from "./rules/tick.ts";
import type { Rule } from "./tx.ts";

/** Every command and what it answers. */
export interface Rules {
	create: Rule<CreateCommand, CreateOutcome>;
	createMany: Rule<CreateManyCommand, CreateManyOutcome>;
	claim: Rule<ClaimCommand, ClaimOutcome>;
	grant: Rule<GrantCommand, ClaimOutcome>;
	acceptGrant: Rule<AcceptGrantCommand, AcceptGrantOutcome>;
	renew: Rule<RenewCommand, RenewOutcome>;
	complete: Rule<CompleteCommand, CompleteOutcome>;
	fail: Rule<FailCommand, FailOutcome>;
	delay: Rule<DelayCommand, DelayOutcome>;
	release: Rule<ReleaseCommand, ReleaseOutcome>;
	progress: Rule<ProgressCommand, ProgressOutcome>;
	cancel: Rule<CancelCommand, CancelOutcome>;
	revokeLease: Rule<RevokeLeaseCommand, RevokeLeaseOutcome>;
	changePriority: Rule<ChangePriorityCommand, ChangePriorityOutcome>;
	setTags: Rule<SetTagsCommand, SetTagsOutcome>;
	replay: Rule<ReplayCommand, ReplayOutcome>;
	delete: Rule<DeleteCommand, DeleteOutcome>;
	tick: Rule<TickCommand, TickOutcome>;
	registerWorker: Rule<RegisterWorkerCommand, RegisterWorkerOutcome>;
	beat: Rule<BeatCommand, BeatOutcome>;
	removeWorker: Rule<RemoveWorkerCommand, RemoveWorkerOutcome>;
	changeLane: Rule<ChangeLaneCommand, ChangeLaneOutcome>;
	copyLane: Rule<CopyLaneCommand, CopyLaneOutcome>;
	confirmLane: Rule<ConfirmLaneCommand, ConfirmLaneOutcome>;
	blockRoute: Rule<BlockRouteCommand, RouteOutcome>;
	unblockRoute: Rule<UnblockRouteCommand, RouteOutcome>;
	noteTrim: Rule<NoteTrimCommand, NoteTrimOutcome>;
	probeWrite: Rule<ProbeWriteCommand, ProbeWriteOutcome>;
	announce: Rule<AnnounceCommand, AnnounceOutcome>;
	withdraw: Rule<WithdrawCommand, WithdrawOutcome>;
}

export type Op = keyof Rules;
export type CommandOf<O extends Op> = Parameters<Rules[O]>[1];
export type OutcomeOf<O extends Op> = ReturnType<Rules[O]>;

/** All an engine needs to know of the rules: how to run a command, where records are queued, how to read them. */
export interface Kernel {
	rules: Rules;
	placement(key: string, record: object): Placement[];
	/** Throws `UnreadableRecord`, which names the field. */
	decode(key: string, doc: string): object;
	/** Whether commands are likely to come for a record; an engine need not remember the others. */
	isBusy(key: string, record: object): boolean;
	/** Whether there is more to be done and kept after such a command: where there is no room, it is refused first. */
	startsWork(op: string): boolean;
}

const starting: ReadonlySet<string> = new Set<Op>([
	"create",
	"createMany",
	"claim",
	"grant",
	"acceptGrant",
	"replay",
	"probeWrite",
]);

export const kernel: Kernel = {
	rules: {
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
		blockRoute,
		unblockRoute,
		noteTrim,
		probeWrite,
		announce,
		withdraw,
	},
	placement,
	decode: readRecord,
	isBusy,
	startsWork: (op) => starting.has(op),
};
