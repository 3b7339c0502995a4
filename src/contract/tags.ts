import { isTagKey, MAX_TAGS, MAX_TAGS_CHARS, type Tags, tagsFit } from "../kernel/tags.ts";
import { FlowFabricError } from "./errors.ts";
import { text } from "./fields.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Tags as callers give them. Keys have an error of their own, so that a program can tell which one it was. */

export const tags = Type.Record(text(0, 256, "A tag's value"), {
	maxProperties: MAX_TAGS,
	description: "Words to find it by: {key: value}",
	allowed: `must be an object of at most ${MAX_TAGS} tags`,
});

export const setTagsRequest = shape(
	Type.Object(
		{
			set: Type.Optional(described(tags, "Tags to set: {key: value}")),
			remove: Type.Optional(
				Type.Array(Type.String({ allowed: "must be a tag's key" }), {
					maxItems: MAX_TAGS,
					description: "Keys to take away",
					allowed: `must be an array of at most ${MAX_TAGS} keys`,
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Tags to set and to take away. */
export type SetTagsRequest = Static<typeof setTagsRequest.schema>;

/** Refuses what no execution could have. */
export function checkTags(field: string, given: Tags): void {
	checkTagKeys(field, Object.keys(given));
	if (tagsFit(given)) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be at most ${MAX_TAGS_CHARS} characters of JSON together`,
		details: { field },
	});
}

export function checkSetTags({ set = {}, remove = [] }: SetTagsRequest): void {
	checkTags("set", set);
	checkTagKeys("remove", remove);
	const both = remove.find((key) => Object.hasOwn(set, key));
	if (both === undefined) return;
	throw new FlowFabricError("invalid_input", {
		message: `remove: must not name ${both}, which set gives a value`,
		details: { field: "remove", key: both },
	});
}

function checkTagKeys(field: string, keys: readonly string[]): void {
	const bad = keys.find((key) => !isTagKey(key));
	if (bad === undefined) return;
	const key = bad.slice(0, 256);
	throw new FlowFabricError("invalid_tag_key", {
		message: `${field}: ${JSON.stringify(key)} is no tag key: must be lower-case words of a-z, 0-9 and _ joined by dots`,
		details: { field, key },
	});
}
