import type { EventDraft } from "../events.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { executionDefaults } from "../records/execution.ts";
import { hasTag, MAX_TAGS, MAX_TAGS_CHARS, type Tags, tagsFit } from "../tags.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface SetTagsCommand extends Target {
	op: "setTags";
	set: Tags;
	remove: readonly string[];
	actor: string;
}

export type SetTagsOutcome = Outcome<{ tags: Tags }>;

/** Tags are for people and say nothing about the work, so they can be changed in every state, also after the end. */
export function setTags(tx: Tx, command: SetTagsCommand, now: number): SetTagsOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const set = Object.entries(command.set).filter(([key, value]) => !hasTag(record.tags, key, value));
	const removed = [...new Set(command.remove)].filter(
		(key) => Object.hasOwn(record.tags, key) && !Object.hasOwn(command.set, key),
	);
	if (set.length === 0 && removed.length === 0) return { ok: true, tags: record.tags };

	const next: Record<string, string> = { ...record.tags };
	for (const key of removed) delete next[key];
	for (const [key, value] of set) next[key] = value;
	if (!tagsFit(next)) {
		const count = Object.keys(next).length;
		return refuse("too_many_tags", { executionId: record.id, count, max: MAX_TAGS, maxChars: MAX_TAGS_CHARS });
	}
	const tags = Object.keys(next).length === 0 ? executionDefaults.tags : next;
	const event: EventDraft = { type: "tags_changed" };
	if (set.length > 0) event.set = Object.fromEntries(set);
	if (removed.length > 0) event.removed = removed;
	transition(tx, record, { tags }, { now, actor: command.actor }, event);
	return { ok: true, tags };
}
