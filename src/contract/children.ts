import { WAIT_MODES, type WaitMode } from "../kernel/records/family.ts";
import { type CreateRequest, createFields, inputFields } from "./executions.ts";
import { executionId, fence } from "./fields.ts";
import { described, type Static, Type } from "./schema.ts";
import { stepName } from "./steps.ts";
import { shape } from "./validate.ts";

/** Requests about the children of an execution, by whoever holds it. */

const strict = { additionalProperties: false, allowed: "must be an object" } as const;

export const MAX_CHILDREN_PER_CALL = 1000;

const childFields = {
	key: described(stepName, "The child's name within its parent: given again it is the same child"),
	onParentEnd: Type.Optional(
		Type.Union([Type.Literal("cancel"), Type.Literal("leave")], {
			description: "What becomes of it when its parent ends (cancel)",
			allowed: 'must be "cancel" or "leave"',
		}),
	),
};

/** A child is checked by itself, like a submission; only what is said of it as a child is taken apart here. */
export const childRequest = shape(
	Type.Object(childFields, { additionalProperties: true, allowed: "must be an object" }),
);

/** A child: its key, and what a submission says. What it leaves out of lane, priority, fairness key and quotas is its parent's. */
export type ChildRequest = Omit<CreateRequest, "idempotencyKey"> & Static<typeof childRequest.schema>;

const { idempotencyKey: _, ...ofSubmission } = createFields;

/** As it is shown in the docs. */
export const childShape = Type.Object({ ...childFields, ...ofSubmission, ...inputFields }, strict);

const many = (what: string, minItems: number, description: string) => ({
	minItems,
	description,
	maxItems: MAX_CHILDREN_PER_CALL,
	allowed: `must be an array of ${minItems === 0 ? "at most" : `${minItems} to`} ${MAX_CHILDREN_PER_CALL} ${what}`,
});

export const addChildrenRequest = shape(
	Type.Object(
		{ fence: Type.Optional(fence), items: Type.Array(Type.Unknown(), many("children", 0, "The children to submit")) },
		strict,
	),
);

/** Children to submit. */
export type AddChildrenRequest = Omit<Static<typeof addChildrenRequest.schema>, "items"> & {
	/** The children to submit. */
	items: ChildRequest[];
};

export const waitChildrenRequest = shape(
	Type.Object(
		{
			fence: Type.Optional(fence),
			mode: Type.Unsafe<WaitMode>(
				Type.Enum([...WAIT_MODES], {
					description:
						"What is waited for: the end of all of them, of any, or the first that succeeds; it is over in any case when all have ended",
					allowed: `must be one of ${WAIT_MODES.join(", ")}`,
				}),
			),
			ids: Type.Optional(
				Type.Array(executionId, many("ids of children", 1, "The children that are meant; all when left out")),
			),
		},
		strict,
	),
);

/** Which children to wait for, and until when. */
export type WaitChildrenRequest = Static<typeof waitChildrenRequest.schema>;
