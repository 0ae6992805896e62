// What to put into a program so that its SDK sends its traces here.
export type Sdk = { id: string; label: string; lines: (endpoint: string) => string };

export const SDKS: readonly Sdk[] = [
  {
    id: 'env',
    label: 'Any SDK',
    lines: (endpoint) =>
      [
        `export OTEL_EXPORTER_OTLP_ENDPOINT=${endpoint}`,
        'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
        'export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
      ].join('\n'),
  },
  {
    id: 'openinference',
    label: 'LangGraph',
    lines: (endpoint) =>
      [
        '# pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http',
        '#             openinference-instrumentation-langchain',
        'from openinference.instrumentation.langchain import LangChainInstrumentor',
        'from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter',
        'from opentelemetry.sdk.trace import TracerProvider',
        'from opentelemetry.sdk.trace.export import SimpleSpanProcessor',
        '',
        'provider = TracerProvider()',
        `provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter("${endpoint}/v1/traces")))`,
        'LangChainInstrumentor().instrument(tracer_provider=provider)',
      ].join('\n'),
  },
  {
    id: 'agents',
    label: 'OpenAI Agents',
    lines: (endpoint) =>
      [
        '# pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http',
        '#             openinference-instrumentation-openai-agents',
        'from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor',
        'from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter',
        'from opentelemetry.sdk.trace import TracerProvider',
        'from opentelemetry.sdk.trace.export import SimpleSpanProcessor',
        '',
        'provider = TracerProvider()',
        `provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter("${endpoint}/v1/traces")))`,
        'OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)',
      ].join('\n'),
  },
  {
    id: 'vercel',
    label: 'Vercel AI SDK',
    lines: (endpoint) =>
      [
        '// npm install @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-http',
        "import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';",
        "import { NodeSDK } from '@opentelemetry/sdk-node';",
        '',
        `new NodeSDK({ traceExporter: new OTLPTraceExporter({ url: '${endpoint}/v1/traces' }) }).start();`,
        '',
        '// In each call of generateText and streamText:',
        'experimental_telemetry: { isEnabled: true },',
      ].join('\n'),
  },
  {
    id: 'logfire',
    label: 'Pydantic AI',
    lines: (endpoint) =>
      [
        `# export OTEL_EXPORTER_OTLP_ENDPOINT=${endpoint}`,
        'import logfire',
        '',
        'logfire.configure(send_to_logfire=False)',
        'logfire.instrument_pydantic_ai()',
      ].join('\n'),
  },
];
