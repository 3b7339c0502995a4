import type { ParentView } from "../../contract/replies.ts";
import { JSON_CONTENT, type Payload } from "../../kernel/payload.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import { type Attempt, type ExecutionRecord, executionKey, type Failure } from "../../kernel/records/execution.ts";
import { type InEdge, LINKS_PER_PAGE, type LinksRecord, linksKey } from "../../kernel/records/links.ts";
import type { Session } from "../calls/session.ts";
import { asValue, unpack } from "../payloads.ts";
import { readRecords } from "../reading/records.ts";

/** Bytes of results that are handed over together; of what goes beyond, only the size is told. */
const MOST_BYTES = 1024 * 1024;

/** An upstream whose end satisfied an edge, and the attempt by which it ended. */
interface Passed {
	name: string;
	edge: InEdge;
	result: Payload | undefined;
	failure: Failure | undefined;
}

/** What the upstreams of a member pass to it, by the names that their edges give. */
export async function parentsOf(session: Session, { id }: ExecutionRecord): Promise<Record<string, ParentView>> {
	const runner = session.runnerOf(id);
	const read = <R extends object>(keys: readonly string[]) => readRecords<R>(session, runner, keys);
	const [first] = await read<LinksRecord>([linksKey(id)]);
	const pages = Math.ceil((first?.ins ?? 0) / LINKS_PER_PAGE);
	const rest = await read<LinksRecord>(Array.from({ length: Math.max(0, pages - 1) }, (_, n) => linksKey(id, n + 1)));
	const edges = [first, ...rest].flatMap((page) => page?.in ?? []);
	const passing = edges.filter(({ passResultAs, end }) => passResultAs !== undefined && end !== undefined);
	const upstreams = await read<ExecutionRecord>(passing.map(({ from }) => executionKey(from)));
	const passed: Passed[] = [];
	for (const [n, edge] of passing.entries())
		passed.push({ name: edge.passResultAs ?? "", edge, ...(await endOf(session, upstreams[n], edge)) });
	let left = MOST_BYTES;
	const carried = passed.map(({ result }) => {
		const size = result?.size ?? 0;
		if (size > left) return false;
		left -= size;
		return true;
	});
	const refs = passed.flatMap(({ result }, n) => (carried[n] && result?.ref ? [result.ref] : []));
	const blobs = refs.length === 0 ? [] : (await runner.ask((store, at) => store.readBlobs(at, refs))).blobs;
	const blobOf = (payload: Payload) => blobs[refs.indexOf(payload.ref ?? "")];
	return Object.fromEntries(passed.map((each, n) => [each.name, parentView(each, carried[n] ?? false, blobOf)]));
}

/** How an upstream ended when it satisfied an edge; if it was replayed since, that attempt has been put aside. */
async function endOf(
	session: Session,
	upstream: ExecutionRecord | undefined,
	{ from, end, attempt }: InEdge,
): Promise<Pick<Passed, "result" | "failure">> {
	let ended: { attempt: Attempt | null; failure?: Failure | null } | undefined = upstream;
	if (attempt !== undefined && upstream?.attempt?.index !== attempt)
		[ended] = await readRecords<AttemptRecord>(session, session.runnerOf(from), [attemptKey(from, attempt)]);
	if (end === "completed") return { result: ended?.attempt?.result, failure: undefined };
	return { result: undefined, failure: ended?.attempt?.failure ?? ended?.failure ?? undefined };
}

function parentView(
	{ edge, result, failure }: Passed,
	isCarried: boolean,
	blobOf: (payload: Payload) => Uint8Array | undefined,
): ParentView {
	const view: ParentView = { executionId: edge.from, publicState: edge.end ?? "completed" };
	if (failure) view.failure = failure;
	if (!result) return view;
	view.size = result.size;
	view.contentType = result.contentType ?? JSON_CONTENT;
	if (!isCarried) return view;
	const value = asValue(unpack(result, blobOf(result)));
	if ("base64" in value) view.resultBase64 = value.base64;
	else view.result = value.value;
	return view;
}
