import { expectTypeOf } from "vitest";
import { FlowFabric, type Run, type SubmitItem, type Submitted } from "../../src/index.ts";

/** Compiled by `npm run check`, never run: what must not compile stands under `@ts-expect-error`. */

interface Sum {
	numbers: number[];
}

/** An interface, which has no index signature. */
interface Kinds {
	sum: { input: Sum; result: number };
	greet: { input: string; result: { text: string } };
	ping: { result: boolean };
	clean: { input?: { olderThanMs: number }; result: undefined };
}

/** The same as a type. */
type SameKinds = { [N in keyof Kinds]: Kinds[N] };

declare const ff: FlowFabric<Kinds>;
declare const same: FlowFabric<SameKinds>;
declare const untyped: FlowFabric;

export async function kindsAreAnInterfaceOrAType() {
	expectTypeOf(await FlowFabric.open<Kinds>("memory:")).toEqualTypeOf<FlowFabric<Kinds>>();
	expectTypeOf(FlowFabric.connect<SameKinds>("http://localhost:9090")).toEqualTypeOf<FlowFabric<SameKinds>>();
	expectTypeOf(await same.submit("sum", { numbers: [] })).toEqualTypeOf<Run<number>>();
	// @ts-expect-error: a kind says what its input and its result are
	await FlowFabric.open<{ sum: { inputs: Sum } }>("memory:");
}

export async function submit() {
	expectTypeOf(await ff.submit("sum", { numbers: [1] })).toEqualTypeOf<Run<number>>();
	expectTypeOf(await (await ff.submit("greet", "ada", { priority: 5 })).result()).toEqualTypeOf<{ text: string }>();
	// @ts-expect-error: its input is required
	await ff.submit("sum");
	// @ts-expect-error: undefined is no input of this kind
	await ff.submit("sum", undefined, { priority: 5 });
	// @ts-expect-error: not the input of this kind
	await ff.submit("sum", "text");
	// @ts-expect-error: there is no such kind
	await ff.submit("subtract", 1);
	// @ts-expect-error: there is no such option
	await ff.submit("greet", "ada", { prioritty: 1 });
}

export async function inputsThatMayBeLeftOut() {
	expectTypeOf(await ff.submit("ping")).toEqualTypeOf<Run<boolean>>();
	await ff.submit("ping", undefined, { delayMs: 1000 });
	await ff.submit("clean");
	await ff.submit("clean", { olderThanMs: 1 });
	// @ts-expect-error: this kind takes no input
	await ff.submit("ping", 1);
	// @ts-expect-error: not the input of this kind
	await ff.submit("clean", { olderThanMs: "1" });
}

export async function submitMany() {
	const [sum, greeting, pong] = await ff.submitMany([
		{ kind: "sum", input: { numbers: [1] }, priority: 5 },
		{ kind: "greet", input: "ada" },
		{ kind: "ping" },
	]);
	expectTypeOf(sum).toEqualTypeOf<Submitted<number>>();
	expectTypeOf(greeting).toEqualTypeOf<Submitted<{ text: string }>>();
	expectTypeOf(pong).toEqualTypeOf<Submitted<boolean>>();
	if (sum.ok) expectTypeOf(sum.run).toEqualTypeOf<Run<number>>();
	else expectTypeOf(sum.error.retryable).toEqualTypeOf<boolean>();

	const sums = await ff.submitMany([[1], [2]].map((numbers) => ({ kind: "sum", input: { numbers } })));
	expectTypeOf(sums).toEqualTypeOf<Submitted<number>[]>();
	const gathered: SubmitItem<Kinds>[] = [{ kind: "ping" }];
	gathered.push({ kind: "greet", input: "ada" });
	await ff.submitMany(gathered);

	// @ts-expect-error: the input of another kind
	await ff.submitMany([{ kind: "sum", input: "ada" }, { kind: "greet", input: "ada" }]); // biome-ignore format: one line
	// @ts-expect-error: its input is required
	await ff.submitMany([{ kind: "sum" }]);
	// @ts-expect-error: there is no such kind
	await ff.submitMany([{ kind: "subtract", input: 1 }]);
	// @ts-expect-error: there is no such option
	await ff.submitMany([{ kind: "ping", prioritty: 1 }]);
	// @ts-expect-error: the input of another kind
	gathered.push({ kind: "sum", input: "ada" });
}

export function flows() {
	ff.flow("report")
		.node("total", "sum", { numbers: [1, 2] })
		.node("hello", "greet", "ada", { after: ["total"] })
		.node("check", "ping", undefined, { after: ["hello"] });
	// @ts-expect-error: its input is required
	ff.flow().node("total", "sum");
	// @ts-expect-error: not the input of this kind
	ff.flow().node("total", "sum", "text");
}

export function handlers() {
	const worker = ff.worker();
	worker
		.handle("sum", (ctx, input) => {
			expectTypeOf(input).toEqualTypeOf<Sum>();
			expectTypeOf(ctx.input).toEqualTypeOf<Sum>();
			return input.numbers.length;
		})
		.handle("ping", async (_ctx, input) => {
			expectTypeOf(input).toEqualTypeOf<undefined>();
			return true;
		});
	// @ts-expect-error: not the result of this kind
	worker.handle("sum", () => "text");
	// @ts-expect-error: there is no such kind
	worker.handle("subtract", () => 1);
}

export async function withoutKindsEverythingPasses() {
	await untyped.submit("anything");
	await untyped.submit("anything", { n: 1 }, { priority: 5 });
	await untyped.submitMany([{ kind: "anything" }, { kind: "other", input: [1] }]);
	untyped.worker().handle("anything", (_ctx, input: { n: number }) => input.n);
	// @ts-expect-error: there is no such option
	await untyped.submit("anything", 1, { prioritty: 1 });
}
