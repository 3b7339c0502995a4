import { list, number, part, type Shapes, table, text } from "../shape.ts";
import type { PublicState } from "../state.ts";
import type { Tags } from "../tags.ts";
import { type Key, makeRecord } from "./record.ts";

export const CANCEL_POLICIES = ["flow_only", "cancel_pending", "cancel_all"] as const;
/** What becomes of the members of a cancelled flow, the weakest first. */
export type CancelPolicy = (typeof CANCEL_POLICIES)[number];

export interface FlowCancel {
	policy: CancelPolicy;
	mode: "graceful" | "force";
	graceMs: number;
	reason?: string;
	requestedAt: number;
	actor: string;
}

export type FlowOutcome = "completed" | "failed" | "cancelled";

/**
 * What a flow is. It changes while it is built and when it is cancelled or ends, but not with its members: every claim of a
 * member reads it, and so learns of a cancel. What changes with members is its progress.
 */
export interface FlowRecord {
	id: string;
	kind: string;
	namespace: string;
	tags: Tags;
	/** Budgets that every member has too; sorted, each once. */
	budgets: readonly string[];
	/** How long to keep it once ended; 0 keeps it until it is deleted. */
	retentionMs: number;
	idempotencyKey: string;
	createdBy: string;
	/** Who it came from, as events name them; empty when `createdBy` says the same. */
	submittedBy: string;
	createdAt: number;

	/** Raised by every member, edge, group and the seal. */
	revision: number;
	nodes: number;
	edges: number;
	isSealed: boolean;
	/** Groups that want more edges than they have. */
	unreachable: number;
	/** Whether a member was ever claimed. */
	isStarted: boolean;

	/** While it is written in several steps: when it is given up; 0 once it is whole. */
	buildUntil: number;
	/** Members up to this number are yet to be shown; 0 when all are. */
	unshown: number;
	/** The next member to be looked at since the seal: its group may be impossible now. 0 for none, as in all that follow. */
	sealFrom: number;
	/** The next member that the cancel has to reach. */
	cancelFrom: number;
	/** All have ended: the next member that may have failed the flow. */
	reviewFrom: number;
	/** The next of its edges to be looked at for that. */
	reviewEdge: number;

	cancel: FlowCancel | null;
	/** Empty until it ends. */
	outcome: FlowOutcome | "";
	endedAt: number;
	removing: boolean;
}

export const flowDefaults: FlowRecord = {
	id: "",
	kind: "",
	namespace: "default",
	tags: Object.freeze({}) as Tags,
	budgets: Object.freeze([]) as readonly string[],
	retentionMs: 86_400_000,
	idempotencyKey: "",
	createdBy: "",
	submittedBy: "",
	createdAt: 0,
	revision: 0,
	nodes: 0,
	edges: 0,
	isSealed: false,
	unreachable: 0,
	isStarted: false,
	buildUntil: 0,
	unshown: 0,
	sealFrom: 0,
	cancelFrom: 0,
	reviewFrom: 0,
	reviewEdge: 0,
	cancel: null,
	outcome: "",
	endedAt: 0,
	removing: false,
};

export const flowShapes: Shapes<FlowRecord> = {
	tags: table(text),
	budgets: list(text),
	cancel: part({ policy: text, mode: text, graceMs: number, requestedAt: number, actor: text }, { reason: text }),
};

export const flowKey = (id: string): Key<FlowRecord> => id;

export const makeFlow = (fields: Partial<FlowRecord>): FlowRecord => makeRecord(flowDefaults, fields);

/** How far a flow has come. It is written whenever the state of a member changes. */
export interface FlowProgressRecord {
	/** Members that have ended. */
	ended: number;
	/** Those of them that failed, expired or were cancelled, but for what a satisfied group had no more use for. */
	bad: number;
	/** Members whose edges still have to be gone through. */
	busy: number;
	/** The number of events of the flow itself. */
	events: number;
	/** How many members are in which state; those that none is in are left out. */
	states: Readonly<Partial<Record<PublicState, number>>>;
}

export const flowProgressDefaults: FlowProgressRecord = {
	ended: 0,
	bad: 0,
	busy: 0,
	events: 0,
	states: Object.freeze({}),
};

export const flowProgressShapes: Shapes<FlowProgressRecord> = { states: table(number) };

export const flowProgressKey = (flowId: string): Key<FlowProgressRecord> => `${flowId}/p`;

/** Members of a flow, by their number: pages of them lead to all. */
export interface FlowMembersRecord {
	members: readonly FlowMemberEntry[];
}

export interface FlowMemberEntry {
	key: string;
	executionId: string;
}

export const flowMembersDefaults: FlowMembersRecord = { members: Object.freeze([]) as readonly FlowMemberEntry[] };

export const flowMembersShapes: Shapes<FlowMembersRecord> = { members: list(part({ key: text, executionId: text })) };

export const MEMBERS_PER_PAGE = 64;

/** Members are numbered from 1. */
export const pageOfMember = (number: number): number => Math.floor((number - 1) / MEMBERS_PER_PAGE);

export const flowMembersKey = (flowId: string, page: number): Key<FlowMembersRecord> => `${flowId}/m${page}`;

/** Leads from a node's key to its member; kept for flows that are built step by step. */
export interface FlowNodeRecord {
	executionId: string;
	number: number;
	/** The hash of what it was made from. */
	bodyHash: string;
}

export const flowNodeDefaults: FlowNodeRecord = { executionId: "", number: 0, bodyHash: "" };

export const flowNodeKey = (flowId: string, node: string): Key<FlowNodeRecord> => `${flowId}/n${node}`;
