import { slotOf, trustedSlot } from "./ids.ts";
import {
	budgetPlacement,
	executionPlacement,
	flowPlacement,
	holdForgottenAt,
	holdPlacement,
	keyringPlacement,
	laneHomePlacement,
	ledgerPlacement,
	type Placement,
	quotaPlacement,
	signalPlacement,
	stepPlacement,
	ticketPlacement,
	untilDue,
	usageKeyPlacement,
	waitpointPlacement,
	workerPlacement,
} from "./placement.ts";
import { attemptDefaults, attemptShapes } from "./records/attempt.ts";
import {
	BUDGET_PREFIX,
	budgetDefaults,
	budgetShapes,
	LEDGER_PREFIX,
	ledgerEntryDefaults,
	ledgerEntryShapes,
	USAGE_KEY_PREFIX,
	type UsageKeyRecord,
	usageKeyDefaults,
	usageKeyShapes,
} from "./records/budget.ts";
import {
	CLAIM_REQUEST_PREFIX,
	type ClaimRequestRecord,
	claimRequestDefaults,
	claimRequestShapes,
} from "./records/claim-request.ts";
import { CURSOR_KEY, CURSOR_KEY_SLOT, cursorKeyDefaults } from "./records/cursor-key.ts";
import { ENGINES_KEY, ENGINES_SLOT, enginesDefaults, enginesShapes } from "./records/engines.ts";
import { EVENT_LOG_KEY, eventLogDefaults } from "./records/event-log.ts";
import { type ExecutionRecord, executionDefaults, executionShapes } from "./records/execution.ts";
import { decodeExecution, encodeExecution } from "./records/execution-text.ts";
import {
	childNameDefaults,
	childrenPageDefaults,
	childrenPageShapes,
	type FamilyRecord,
	familyDefaults,
	familyShapes,
} from "./records/family.ts";
import {
	type FlowRecord,
	flowDefaults,
	flowMembersDefaults,
	flowMembersShapes,
	flowNodeDefaults,
	flowProgressDefaults,
	flowProgressShapes,
	flowShapes,
} from "./records/flow.ts";
import { type GrantRecord, grantDefaults, grantForgottenAt } from "./records/grant.ts";
import { namespaceOfGuardPart, slotOfGuardPart } from "./records/guard.ts";
import { HOLD_PREFIX, type HoldRecord, holdDefaults, holdShapes } from "./records/hold.ts";
import {
	IDEMPOTENCY_KEY_PREFIX,
	type IdempotencyKeyRecord,
	idempotencyKeyDefaults,
} from "./records/idempotency-key.ts";
import { KEYRING_KEY, KEYRING_SLOT, keyringDefaults } from "./records/keyring.ts";
import { LANE_HOME_PREFIX, LANE_PREFIX, laneDefaults, laneHomeDefaults } from "./records/lane.ts";
import { isBusyWithLinks, type LinksRecord, linksDefaults, linksShapes } from "./records/links.ts";
import { OUTBOX_PREFIX, type OutboxRecord, outboxDefaults } from "./records/outbox.ts";
import {
	QUOTA_PREFIX,
	quotaDefaults,
	quotaShapes,
	WINDOW_PREFIX,
	windowChunkDefaults,
	windowChunkShapes,
} from "./records/quota.ts";
import { decodeRecord, encodeRecord } from "./records/record.ts";
import {
	countedValueDefaults,
	type SignalRecord,
	sentSignalDefaults,
	signalDefaults,
	signalShapes,
} from "./records/signal.ts";
import { type StepRecord, stepDefaults, stepShapes } from "./records/step.ts";
import {
	decodeStream,
	encodeStream,
	type StreamRecord,
	streamDefaults,
	streamShapes,
	summaryDefaults,
} from "./records/stream.ts";
import { suspensionDefaults, suspensionNameDefaults, suspensionShapes } from "./records/suspension.ts";
import { TICKET_PREFIX, ticketDefaults, ticketShapes } from "./records/ticket.ts";
import { TURN_PREFIX, type TurnRecord, turnDefaults, turnForgottenAt } from "./records/turn.ts";
import {
	type WaitpointRecord,
	waitpointDefaults,
	waitpointNameDefaults,
	waitpointShapes,
} from "./records/waitpoint.ts";
import { slotOfWorkers, WORKER_PREFIX, workerDefaults, workerExpiresAt, workerShapes } from "./records/worker.ts";
import { tickLaneHome } from "./rules/change-lane.ts";
import { tickKeyring } from "./rules/rotate-secret.ts";
import { tickExecution } from "./rules/tick-execution.ts";
import { tickFamily } from "./rules/tick-family.ts";
import { tickFlow, tickLinks } from "./rules/tick-flow.ts";
import { tickBudget, tickQuota } from "./rules/tick-guard.ts";
import { tickOutbox } from "./rules/tick-outbox.ts";
import { tickWaitpoint } from "./rules/tick-waitpoint.ts";
import type { Shapes } from "./shape.ts";
import { tickTicket } from "./tickets.ts";
import { expiring, type Tick } from "./ticking.ts";

/** All there is to know of a type of record. */
interface RecordTypeEntry<R extends object> {
	/**
	 * How its keys begin: an id's prefix, a word and a colon, or the whole key of what there is one of. `ex_/a` is a part of
	 * an execution: its key is the execution's, a slash, and the letter.
	 */
	prefix: string;
	defaults: R;
	/** What its parts must be; see `shape.ts`. */
	shapes?: Shapes<R>;
	/** The slot it lives in, by its key without the prefix or, for ids, whole; absent where any partition may have one. */
	slot?(name: string): number;
	/** Whose it is; absent for what is of no namespace. */
	namespace?(record: R, name: string): string;
	/** Whether commands are likely to come for it: an engine need not remember the others. */
	isBusy?(record: R): boolean;
	/** Whether it may be shown to nobody: it leaves its store only for who asks for it. */
	isSecret?: true;
	/** Whether it is of use in its own store only: no export holds it. */
	isOfItsStore?: true;
	/** Where it is queued. */
	placement?(record: R, key: string): Placement[];
	/** What is done when something on it is due. */
	tick?: Tick;
	decode?(key: string, doc: string): R;
	encode?(record: R): string;
}

/** Keeps the type of a record together with what is said of it; the table itself holds types of all kinds. */
const entry = <R extends object>(type: RecordTypeEntry<R>): RecordTypeEntry<object> =>
	type as unknown as RecordTypeEntry<object>;

const always = (): boolean => true;
const ofRecord = ({ namespace }: { namespace: string }): string => namespace;
/** A part of an execution lives with it. */
const slotOfPart = (key: string): number => trustedSlot(key.slice(0, key.indexOf("/")));
/** Namespaces hold no colon. */
const upToColon = (_: object, name: string): string => name.slice(0, name.indexOf(":"));

/** Every type of record, with everything about it. What a store holds beyond these was written by a later version. */
const RECORD_TYPES = {
	execution: entry<ExecutionRecord>({
		prefix: "ex_",
		defaults: executionDefaults,
		shapes: executionShapes,
		slot: trustedSlot,
		namespace: ofRecord,
		isBusy: ({ lifecyclePhase }) => lifecyclePhase !== "terminal",
		placement: executionPlacement,
		tick: tickExecution,
		decode: decodeExecution,
		encode: encodeExecution,
	}),
	attempt: entry({ prefix: "ex_/a", defaults: attemptDefaults, shapes: attemptShapes, slot: slotOfPart }),
	suspension: entry({
		prefix: "ex_/u",
		defaults: suspensionDefaults,
		shapes: suspensionShapes,
		slot: slotOfPart,
		isBusy: ({ endedAt }) => endedAt === 0,
	}),
	step: entry<StepRecord>({
		prefix: "ex_/p",
		defaults: stepDefaults,
		shapes: stepShapes,
		slot: slotOfPart,
		placement: stepPlacement,
	}),
	suspensionName: entry({ prefix: "ex_/k", defaults: suspensionNameDefaults, slot: slotOfPart }),
	waitpoint: entry<WaitpointRecord>({
		prefix: "wp_",
		defaults: waitpointDefaults,
		shapes: waitpointShapes,
		slot: trustedSlot,
		namespace: ofRecord,
		isBusy: ({ closedAt }) => closedAt === 0,
		placement: waitpointPlacement,
		tick: tickWaitpoint,
	}),
	waitpointName: entry({ prefix: "ex_/n", defaults: waitpointNameDefaults, slot: slotOfPart }),
	signal: entry<SignalRecord>({
		prefix: "ex_/s",
		defaults: signalDefaults,
		shapes: signalShapes,
		slot: slotOfPart,
		placement: signalPlacement,
	}),
	sentSignal: entry({ prefix: "ex_/d", defaults: sentSignalDefaults, slot: slotOfPart }),
	countedValue: entry({ prefix: "ex_/v", defaults: countedValueDefaults, slot: slotOfPart }),
	stream: entry<StreamRecord>({
		prefix: "ex_/h",
		defaults: streamDefaults,
		shapes: streamShapes,
		slot: slotOfPart,
		isBusy: always,
		decode: decodeStream,
		encode: encodeStream,
	}),
	/** Only bytes are kept under such keys. */
	chunk: entry({ prefix: "ex_/f", defaults: {}, slot: slotOfPart }),
	summary: entry({ prefix: "ex_/y", defaults: summaryDefaults, slot: slotOfPart }),
	links: entry<LinksRecord>({
		prefix: "ex_/e",
		defaults: linksDefaults,
		shapes: linksShapes,
		slot: slotOfPart,
		isBusy: always,
		placement: (record) => (isBusyWithLinks(record) ? untilDue(0) : []),
		tick: tickLinks,
	}),
	family: entry<FamilyRecord>({
		prefix: "ex_/g",
		defaults: familyDefaults,
		shapes: familyShapes,
		slot: slotOfPart,
		isBusy: ({ ended, count }) => ended < count,
		placement: ({ cancelFrom }) => (cancelFrom > 0 ? untilDue(0) : []),
		tick: tickFamily,
	}),
	childrenPage: entry({
		prefix: "ex_/m",
		defaults: childrenPageDefaults,
		shapes: childrenPageShapes,
		slot: slotOfPart,
	}),
	childName: entry({ prefix: "ex_/c", defaults: childNameDefaults, slot: slotOfPart }),
	flow: entry<FlowRecord>({
		prefix: "fl_",
		defaults: flowDefaults,
		shapes: flowShapes,
		slot: trustedSlot,
		namespace: ofRecord,
		isBusy: ({ outcome }) => outcome === "",
		placement: flowPlacement,
		tick: tickFlow,
	}),
	flowProgress: entry({
		prefix: "fl_/p",
		defaults: flowProgressDefaults,
		shapes: flowProgressShapes,
		slot: slotOfPart,
		isBusy: always,
	}),
	flowMembers: entry({
		prefix: "fl_/m",
		defaults: flowMembersDefaults,
		shapes: flowMembersShapes,
		slot: slotOfPart,
		isBusy: always,
	}),
	flowNode: entry({ prefix: "fl_/n", defaults: flowNodeDefaults, slot: slotOfPart }),
	grant: entry<GrantRecord>({
		prefix: "gr_",
		defaults: grantDefaults,
		slot: trustedSlot,
		namespace: ofRecord,
		placement: (record) => untilDue(grantForgottenAt(record)),
		tick: expiring("grant_memory", grantForgottenAt),
	}),
	idempotencyKey: entry<IdempotencyKeyRecord>({
		prefix: IDEMPOTENCY_KEY_PREFIX,
		defaults: idempotencyKeyDefaults,
		slot: slotOf,
		namespace: upToColon,
		placement: ({ expiresAt }) => untilDue(expiresAt),
		tick: expiring<IdempotencyKeyRecord>("key_expiry", ({ expiresAt }) => expiresAt),
	}),
	claimRequest: entry<ClaimRequestRecord>({
		prefix: CLAIM_REQUEST_PREFIX,
		defaults: claimRequestDefaults,
		shapes: claimRequestShapes,
		namespace: upToColon,
		placement: ({ expiresAt }) => untilDue(expiresAt),
		tick: expiring<ClaimRequestRecord>("request_expiry", ({ expiresAt }) => expiresAt),
	}),
	/** A ticket too many does no harm, so any partition may have one. */
	ticket: entry({
		prefix: TICKET_PREFIX,
		defaults: ticketDefaults,
		shapes: ticketShapes,
		namespace: ofRecord,
		isBusy: always,
		placement: ticketPlacement,
		tick: tickTicket,
	}),
	lane: entry({ prefix: LANE_PREFIX, defaults: laneDefaults, isBusy: always }),
	laneHome: entry({
		prefix: LANE_HOME_PREFIX,
		defaults: laneHomeDefaults,
		slot: slotOf,
		namespace: ofRecord,
		isBusy: always,
		placement: laneHomePlacement,
		tick: tickLaneHome,
	}),
	worker: entry({
		prefix: WORKER_PREFIX,
		defaults: workerDefaults,
		shapes: workerShapes,
		slot: (name) => slotOfWorkers(name.slice(0, name.indexOf(":"))),
		namespace: ofRecord,
		isBusy: always,
		placement: workerPlacement,
		tick: expiring("worker_expiry", workerExpiresAt),
	}),
	budget: entry({
		prefix: BUDGET_PREFIX,
		defaults: budgetDefaults,
		shapes: budgetShapes,
		slot: slotOfGuardPart,
		namespace: ofRecord,
		isBusy: always,
		placement: budgetPlacement,
		tick: tickBudget,
	}),
	ledgerEntry: entry({
		prefix: LEDGER_PREFIX,
		defaults: ledgerEntryDefaults,
		shapes: ledgerEntryShapes,
		slot: slotOfGuardPart,
		namespace: namespaceOfGuardPart,
		placement: ledgerPlacement,
	}),
	usageKey: entry<UsageKeyRecord>({
		prefix: USAGE_KEY_PREFIX,
		defaults: usageKeyDefaults,
		shapes: usageKeyShapes,
		slot: slotOfGuardPart,
		namespace: namespaceOfGuardPart,
		placement: usageKeyPlacement,
		tick: expiring<UsageKeyRecord>("key_expiry", ({ expiresAt }) => expiresAt),
	}),
	quota: entry({
		prefix: QUOTA_PREFIX,
		defaults: quotaDefaults,
		shapes: quotaShapes,
		slot: slotOfGuardPart,
		namespace: ofRecord,
		isBusy: always,
		placement: quotaPlacement,
		tick: tickQuota,
	}),
	windowChunk: entry({
		prefix: WINDOW_PREFIX,
		defaults: windowChunkDefaults,
		shapes: windowChunkShapes,
		slot: slotOfGuardPart,
		namespace: namespaceOfGuardPart,
		isBusy: always,
	}),
	hold: entry<HoldRecord>({
		prefix: HOLD_PREFIX,
		defaults: holdDefaults,
		shapes: holdShapes,
		slot: slotOfGuardPart,
		namespace: namespaceOfGuardPart,
		isBusy: ({ givenBackAt }) => givenBackAt === 0,
		placement: holdPlacement,
		tick: expiring<HoldRecord>("hold_memory", (record) =>
			record.givenBackAt > 0 ? holdForgottenAt(record) : Number.POSITIVE_INFINITY,
		),
	}),
	outbox: entry<OutboxRecord>({
		prefix: OUTBOX_PREFIX,
		defaults: outboxDefaults,
		slot: (name) => trustedSlot(name.slice(0, name.indexOf(","))),
		namespace: ofRecord,
		isBusy: always,
		placement: ({ sendAt }) => untilDue(sendAt),
		tick: tickOutbox,
	}),
	/** Each partition counts for itself. */
	turn: entry<TurnRecord>({
		prefix: TURN_PREFIX,
		defaults: turnDefaults,
		namespace: ofRecord,
		isBusy: always,
		placement: (record) => untilDue(turnForgottenAt(record)),
		tick: expiring<TurnRecord>("turn_memory", turnForgottenAt),
	}),
	eventLog: entry({ prefix: EVENT_LOG_KEY, defaults: eventLogDefaults, isBusy: always }),
	engines: entry({
		prefix: ENGINES_KEY,
		defaults: enginesDefaults,
		shapes: enginesShapes,
		slot: () => ENGINES_SLOT,
		isBusy: always,
	}),
	/** Not remembered: secrets stay no longer in memory than they are used. */
	keyring: entry({
		prefix: KEYRING_KEY,
		defaults: keyringDefaults,
		slot: () => KEYRING_SLOT,
		isSecret: true,
		placement: keyringPlacement,
		tick: tickKeyring,
	}),
	/** A position in one store is none in another, so cursors end when their store is moved. */
	cursorKey: entry({
		prefix: CURSOR_KEY,
		defaults: cursorKeyDefaults,
		slot: () => CURSOR_KEY_SLOT,
		isSecret: true,
		isOfItsStore: true,
	}),
};

export type RecordType = keyof typeof RECORD_TYPES;

const byPrefix = new Map<string, RecordType>(
	(Object.keys(RECORD_TYPES) as RecordType[]).map((type) => [RECORD_TYPES[type].prefix, type]),
);

const ID_PREFIX = "ex_".length;

/** A key tells what kind of record it names; undefined for keys of a later version. */
export function recordTypeOf(key: string): RecordType | undefined {
	// Most records are executions: they are told without a new text.
	if (key.startsWith("ex_") && !key.includes("/")) return "execution";
	if (key.charAt(ID_PREFIX - 1) !== "_") return byPrefix.get(key.slice(0, key.indexOf(":") + 1) || key);
	const slash = key.indexOf("/");
	const id = key.slice(0, ID_PREFIX);
	return byPrefix.get(slash < 0 ? id : `${id}/${key.charAt(slash + 1)}`);
}

/** All there is to know of the type a key names; undefined for keys of a later version. */
export function typeOfKey(key: string): RecordTypeEntry<object> | undefined {
	const type = recordTypeOf(key);
	return type && RECORD_TYPES[type];
}

/** A key as its type takes it apart: an id whole, any other without its prefix. */
const nameOf = (key: string, { prefix }: RecordTypeEntry<object>): string =>
	prefix.endsWith(":") ? key.slice(prefix.length) : key;

/** A record of a kind this program does not know keeps all it holds and is queued nowhere. */
export function decode(key: string, doc: string): object {
	const type = typeOfKey(key);
	return type?.decode ? type.decode(key, doc) : decodeRecord(type?.defaults ?? {}, doc);
}

export function encode(key: string, record: object): string {
	const type = typeOfKey(key);
	return type?.encode ? type.encode(record) : encodeRecord(type?.defaults ?? {}, record);
}

/** Where a record is queued: a pure function of the record, so an index can always be rebuilt and checked. */
export const placement = (key: string, record: object): Placement[] => typeOfKey(key)?.placement?.(record, key) ?? [];

/** Whether commands are likely to come for a record. What a later version made is none of ours to judge. */
export function isBusy(key: string, record: object): boolean {
	const type = typeOfKey(key);
	return type ? (type.isBusy?.(record) ?? false) : true;
}

/** The slot a record, a blob or an owner of events lives in; undefined for what any partition may have one of. */
export function slotOfKey(key: string): number | undefined {
	const type = typeOfKey(key);
	if (type) return type.slot?.(nameOf(key, type));
	// Bytes of an execution, or what a later version made a part of it.
	return key.charAt(ID_PREFIX - 1) === "_" && key.includes("/") ? slotOfPart(key) : undefined;
}

/** Whether a record may be shown to nobody. */
export const isSecret = (key: string): boolean => typeOfKey(key)?.isSecret === true;

/** Whether an export leaves a record out; `keys` when secrets were asked for. */
export const isLeftOut = (key: string, keys: boolean): boolean =>
	(!keys && isSecret(key)) || typeOfKey(key)?.isOfItsStore === true;

/** Undefined for what is of no namespace. */
export function namespaceOf(key: string, record: object): string | undefined {
	const type = typeOfKey(key);
	return type?.namespace?.(record, nameOf(key, type));
}
