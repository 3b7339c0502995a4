import { FlowFabric } from "flowfabric";

const ff = FlowFabric.connect(process.env.FF_URL ?? "http://127.0.0.1:9090");

const worker = ff.worker({ concurrency: 4 });
worker.handle("greet", async (ctx, input) => {
	await ctx.progress({ percent: 50, message: "thinking of a greeting" });
	return `hello, ${input.name}`;
});
await worker.start();
console.log("waiting for work; Ctrl-C hands back what is running and ends");
