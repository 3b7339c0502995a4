import type { Calls } from "../../../src/index.ts";

export interface Tenant {
	readonly namespace: string;
	/** What this tenant's names begin with; others may guess them. */
	readonly mark: string;
	/** Stands in all that this tenant writes, and in nothing that anybody else sends. */
	readonly secret: string;
}

/** No lease ends while the tests run. */
export const LONG_MS = 3_600_000;

/** What requests name. */
export const NAMES = [
	"namespace",
	"kind",
	"lane",
	"key",
	"flowKey",
	"tag",
	"waiting",
	"held",
	"fence",
	"busy",
	"busyFence",
	"child",
	"openWaitpoint",
	"suspended",
	"waitpoint",
	"waitpointKey",
	"token",
	"ended",
	"openFlow",
	"node",
	"endedFlow",
	"budget",
	"quota",
	"instance",
	"claimRequest",
	"grantRequest",
	"grant",
	"executionsCursor",
	"flowsCursor",
	"lanesCursor",
	"budgetsCursor",
	"quotasCursor",
	"workersCursor",
	"inboxCursor",
	"feedCursor",
	"ledgerCursor",
	"eventsCursor",
	"flowEventsCursor",
	"stepsCursor",
] as const;
export type Name = (typeof NAMES)[number];
export type Values = { [N in Name]: N extends "fence" | "busyFence" ? Fence : string };

export interface Fence {
	leaseId: string;
	epoch: number;
}

export interface Holding {
	id: string;
	fence: Fence;
}

export interface Page {
	namespace: string;
	limit: number;
}

/** Where things of a tenant are made, and made once. */
export interface Making {
	readonly calls: Calls;
	readonly tenant: Tenant;
	name<N extends Name>(name: N): Promise<Values[N]>;
	names(...names: Name[]): Promise<Partial<Values>>;
	/** An execution that somebody runs. */
	holding(label: string): Promise<Holding>;
	/** An execution that waits for the signal `go`. */
	waitingFor(label?: string): Promise<{ id: string; waitpoint: { id: string; key: string; token: string } }>;
	granted(): Promise<{ id: string; executionId: string; requestId: string }>;
	/** Where the second page of a list begins. */
	cursor(list: (page: Page) => Promise<{ nextCursor?: string }>): Promise<string>;
}
