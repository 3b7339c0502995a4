import { type Static, Type } from "../schema.ts";
import { at, count, flag, nextCursor, text } from "./parts.ts";

const most = (description: string) => Type.Integer({ minimum: 1, description });

const holder = Type.Object({
	executionId: text("The execution that holds a slot"),
	leaseId: Type.Optional(text("The lease it holds it under")),
	grantId: Type.Optional(text("Instead of leaseId while the execution is granted and not yet leased")),
	suspensionId: Type.Optional(text("Instead of leaseId while a suspension keeps the slot for the next lease")),
	since: at("Since when"),
});

const limits = {
	id: text("Name, unique within its namespace"),
	namespace: text("The tenant it belongs to"),
	rate: Type.Optional(
		Type.Object(
			{
				max: most("Admissions within the window"),
				windowMs: most("How long an admission counts, in milliseconds"),
				counted: count("Admissions younger than the window"),
			},
			{ description: "How many may start within a sliding window; left out for no limit" },
		),
	),
	concurrency: Type.Optional(
		Type.Object(
			{ max: most("How many may run at the same time"), held: count("How many slots are taken now") },
			{ description: "How many may run at the same time; left out for no limit" },
		),
	),
	holdWhileSuspended: flag("A suspended execution keeps its slot"),
	jitterMs: count("Maximum extra delay before work that waits for the window starts, in milliseconds"),
	waiting: count("Executions waiting for it"),
	createdAt: at("When it was created"),
};

export const listedQuota = Type.Object(limits);

/** A quota as it is now, without its holders. */
export interface ListedQuota extends Static<typeof listedQuota> {}

export const quota = Type.Object({
	...limits,
	holders: Type.Array(holder, { description: "Holders of slots, longest first, at most 100" }),
	holdersMore: count("How many more holders there are"),
});

/** A quota as it is now, and who holds its slots. */
export interface QuotaView extends Static<typeof quota> {}

export const createdQuota = Type.Object({
	...quota.properties,
	created: flag("False when it existed already with this definition"),
});

/** `created` is false when it existed already with this definition. */
export interface CreatedQuota extends Static<typeof createdQuota> {}

export const quotaPage = Type.Object({
	quotas: Type.Array(listedQuota, { description: "In the order they were created" }),
	nextCursor,
});

/** A page of quotas in the order they were made. */
export interface QuotaPage extends Static<typeof quotaPage> {}
