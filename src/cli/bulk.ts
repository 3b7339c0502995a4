import type { Command } from "commander";
import type { BulkRequest } from "../contract/bulk.ts";
import type { BulkReply, Execution } from "../contract/replies.ts";
import type { FlowFabric } from "../library/flowfabric.ts";
import { isConfirmed, needsYes } from "./asking.ts";
import type { CommandContext } from "./command-context.ts";
import { atServer, type ServerFlags, withFullIds } from "./connection.ts";
import { MisuseError } from "./exit-codes.ts";
import { type Filter, type FilterFlags, filterOf, withFilter } from "./filter-flags.ts";
import { bar } from "./format/bar.ts";
import { printExecutions } from "./format/execution.ts";
import { filterInWords } from "./format/filter.ts";
import { WHOLE_PAGE } from "./pages.ts";

/** One action on everything a filter finds: shown first, confirmed, then done a page at a time. */

type Action = BulkRequest["action"];

export interface BulkFlags extends FilterFlags, ServerFlags {
	yes?: boolean;
	dryRun?: boolean;
}

const DONE: Record<Action, string> = { cancel: "cancelled", replay: "replayed", delete: "deleted" };

/** Rows of the preview, and what is counted before a number becomes "at least". */
const FIRST_FEW = 5;
const MOST_COUNTED = 20_000;
const MOST_ERRORS = 5;

export function withBulk(command: Command): Command {
	return withFullIds(withFilter(command))
		.option("--dry-run", "only show what the filter finds")
		.option("--yes", "do not ask; needed with --json and where there is no terminal");
}

/** The one execution a command is about, or undefined when a filter says which; both or nothing is a mistake. */
export function oneOrMany(id: string | undefined, flags: FilterFlags, what: string): string | undefined {
	const { namespace, ...narrowing } = filterOf(flags);
	const isNarrowed = Object.keys(narrowing).length > 0;
	if (id !== undefined && (isNarrowed || namespace !== undefined))
		throw new MisuseError(`${what}: give an id or a filter, not both`);
	if (id === undefined && !isNarrowed)
		throw new MisuseError(`${what}: give an id, or a filter such as --lane or --state; --namespace alone is none`);
	return id;
}

export async function doToMany(
	context: CommandContext,
	flags: BulkFlags,
	{ action, filter, reason }: { action: Action; filter: Filter; reason?: string },
): Promise<void> {
	if (!flags.dryRun) needsYes(context, flags, `${action} by filter`);
	await atServer(context, flags, async (ff) => {
		const { terminal } = context;
		const found = await preview(ff, context, filter);
		const { count, isAll } = found;
		if (flags.json && flags.dryRun) return terminal.json({ action, filter, matched: count, isAll, first: found.first });
		if (!flags.json) show(context, action, filter, found);
		if (flags.dryRun || (count === 0 && !flags.json)) return;
		if (!flags.yes && !(await isConfirmed(context, `${capital(action)} ${countText(found)}?`))) {
			terminal.note("Nothing was done.");
			return context.end("stopped");
		}
		// What was submitted after the preview was not in it, so it is left alone.
		const newest = found.first[0];
		const seen = newest && filter.createdBefore === undefined ? { createdBefore: newest.createdAt + 1 } : undefined;
		const request: BulkRequest = {
			action,
			filter: { ...filter, ...seen },
			...(reason === undefined ? undefined : { reason }),
		};
		report(context, flags, action, found, newest ? await pageByPage(ff, context, request, found) : NOTHING);
	});
}

interface Found {
	first: Execution[];
	count: number;
	/** False when counting stopped before the end. */
	isAll: boolean;
}

async function preview(ff: FlowFabric, { terminal }: CommandContext, filter: Filter): Promise<Found> {
	const found: Found = { first: [], count: 0, isAll: true };
	let cursor: string | undefined;
	do {
		const page = await ff.list({ ...filter, limit: WHOLE_PAGE, ...(cursor === undefined ? undefined : { cursor }) });
		for (const each of page.executions.slice(0, FIRST_FEW - found.first.length)) found.first.push(each);
		found.count += page.executions.length;
		cursor = page.nextCursor;
		if (cursor !== undefined) terminal.status(`counting: ${found.count}`);
	} while (cursor !== undefined && found.count < MOST_COUNTED);
	terminal.status("");
	return { ...found, isAll: cursor === undefined };
}

function show({ terminal }: CommandContext, action: Action, filter: Filter, found: Found): void {
	const { first, count } = found;
	if (count === 0) return terminal.print(`Nothing to ${action}: no ${filterInWords(filter, Date.now())}.`);
	terminal.print(`To ${action}: ${countText(found, filterInWords(filter, Date.now()))}.`);
	terminal.print();
	printExecutions(terminal, first, Date.now());
	if (count > first.length) terminal.print(`… and ${count - first.length}${found.isAll ? "" : " or more"} others`);
	terminal.print();
}

const countText = ({ count, isAll }: Found, what = "execution"): string =>
	`${isAll ? "" : "at least "}${count} ${count === 1 ? what : what.replace(/^execution/, "executions")}`;

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

interface Outcome extends Pick<BulkReply, "done" | "failed" | "errors"> {
	isStopped: boolean;
}

const NOTHING: Outcome = { done: 0, failed: 0, errors: [], isStopped: false };

/** Asked to stop, it ends after the page that is on its way: what is done is then known. */
async function pageByPage(
	ff: FlowFabric,
	context: CommandContext,
	request: BulkRequest,
	found: Found,
): Promise<Outcome> {
	const outcome: Outcome = { ...NOTHING, errors: [] };
	let isAsked = false;
	const release = context.onStop(() => {
		isAsked = true;
		context.terminal.status("stopping after this page");
	});
	const tell = (seen: number) => context.terminal.status(progressText(DONE[request.action], seen, found));
	try {
		let cursor: string | undefined;
		tell(0);
		do {
			const page = await ff.bulk({ ...request, ...(cursor === undefined ? undefined : { cursor }) });
			outcome.done += page.done;
			outcome.failed += page.failed;
			for (const error of page.errors) if (outcome.errors.length < WHOLE_PAGE) outcome.errors.push(error);
			cursor = page.nextCursor;
			if (!isAsked) tell(outcome.done + outcome.failed);
		} while (cursor !== undefined && !isAsked);
		return { ...outcome, isStopped: cursor !== undefined };
	} finally {
		release();
		context.terminal.status("");
	}
}

const progressText = (verb: string, seen: number, { count, isAll }: Found): string =>
	isAll ? `${bar((100 * Math.min(seen, count)) / count)}  ${seen} of ${count} ${verb}` : `${seen} ${verb}`;

function report(context: CommandContext, flags: BulkFlags, action: Action, found: Found, outcome: Outcome): void {
	const { terminal } = context;
	const { done, failed, errors, isStopped } = outcome;
	if (isStopped) context.end("stopped");
	else if (failed > 0) context.end("failure");
	if (flags.json) return terminal.json({ action, matched: found.count, isAll: found.isAll, ...outcome });
	const refused = failed === 0 ? "" : `, ${failed} failed`;
	const stopped = isStopped ? `; stopped there, of ${countText(found)}; the same command goes on` : "";
	terminal.print(`${done} ${DONE[action]}${refused}${stopped}`);
	for (const { id, error } of errors.slice(0, MOST_ERRORS)) terminal.print(`  ${id}: ${error.message} (${error.code})`);
	if (failed > MOST_ERRORS) terminal.print(`  … and ${failed - MOST_ERRORS} more; --json names them`);
}
