import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor } from "./parts.ts";

const most = Type.Integer({ minimum: 1 });

const holder = Type.Object({
	executionId: Type.String(),
	leaseId: Type.Optional(Type.String()),
	grantId: Type.Optional(
		Type.String({ description: "Instead of leaseId while the execution is granted and not yet leased" }),
	),
	suspensionId: Type.Optional(
		Type.String({ description: "Instead of leaseId while a suspension keeps the slot for the next lease" }),
	),
	since: at,
});

const limits = {
	id: Type.String(),
	namespace: Type.String(),
	rate: Type.Optional(
		Type.Object({
			max: most,
			windowMs: most,
			counted: Type.Integer({ minimum: 0, description: "Admissions younger than the window" }),
		}),
	),
	concurrency: Type.Optional(Type.Object({ max: most, held: count })),
	holdWhileSuspended: Type.Boolean(),
	jitterMs: count,
	waiting: Type.Integer({ minimum: 0, description: "Executions waiting for it" }),
	createdAt: at,
};

export const listedQuota = Type.Object(limits);

/** A quota as it is now, without its holders. */
export interface ListedQuota extends Static<typeof listedQuota> {}

export const quota = Type.Object({
	...limits,
	holders: Type.Array(holder, { description: "Holders of slots, longest first, at most 100" }),
	holdersMore: Type.Integer({ minimum: 0, description: "How many more holders there are" }),
});

/** A quota as it is now, and who holds its slots. */
export interface QuotaView extends Static<typeof quota> {}

export const createdQuota = Type.Object({ ...quota.properties, created: Type.Boolean() });

/** `created` is false when it existed already with this definition. */
export interface CreatedQuota extends Static<typeof createdQuota> {}

export const quotaPage = Type.Object({ quotas: Type.Array(listedQuota), nextCursor });

/** A page of quotas in the order they were made. */
export interface QuotaPage extends Static<typeof quotaPage> {}
