{{/* Each process: its image, arguments, database role, secrets and volumes. Only what stands here reaches it. */}}
{{- define "r4p.processes" -}}
web: {image: app, arguments: [serve, --host, 0.0.0.0, --port, "8000"], role: web, secrets: [R4P_WEBHOOK_SECRET], optional: [R4P_OAUTH_CLIENT_SECRET], open: true}
github: {image: app, arguments: [worker, --queues, "events,github"], role: github, key: R4P_PRIVATE_KEY, volumes: [checkouts, trees, test-trees], open: true}
verify: {image: worker, arguments: [worker, --queues, verify], role: verify, optional: [R4P_ENGINE_API_KEY]{{ if .Values.judgesReadCode }}, volumes: [trees], sandbox: true{{ end }}}
agents: {image: worker, arguments: [worker, --queues, agents], role: agents, optional: [R4P_ENGINE_API_KEY], volumes: [trees], sandbox: true}
tests: {image: worker, arguments: [worker, --queues, tests, --concurrency, "1"], role: tests, volumes: [test-trees, environments], sandbox: true, ownProc: true}
writer: {image: app, arguments: [worker, --queues, writer, --concurrency, "1"], role: writer, key: R4P_WRITER_PRIVATE_KEY, open: true}
train: {image: trainer, arguments: [worker, --queues, train, --concurrency, "2"], role: train, engineKeyFile: true, volumes: [trainings, models]}
beat: {image: app, arguments: [beat]}
{{- end }}

{{/* Where each volume is mounted, and the setting that names the folder. */}}
{{- define "r4p.volumes" -}}
checkouts: {path: /checkouts, setting: R4P_CHECKOUT_DIR}
trees: {path: /trees, setting: R4P_TREES}
test-trees: {path: /test-trees, setting: R4P_TESTS_TREES}
environments: {path: /environments, setting: R4P_TESTS, readOnly: true}
trainings: {path: /trainings, setting: R4P_TRAIN_DIR}
models: {path: /models, setting: HF_HOME, readOnly: true}
{{- end }}

{{- define "r4p.labels" -}}
app.kubernetes.io/name: r4p-bot
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: r4p
{{- end }}

{{- define "r4p.image" -}}
{{ .root.Values.image.prefix }}{{ .image }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "r4p.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "r4p.closed" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "r4p.secret" -}}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ .root.Values.secretName }}, key: {{ .key | default .name }}{{ if .optional }}, optional: true{{ end }}}}
{{- end }}

{{- define "r4p.databaseUrl" -}}
postgresql://{{ .user }}:$({{ .password }})@{{ .root.Values.database.host }}:{{ .root.Values.database.port }}/{{ .root.Values.database.name }}
{{- end }}

{{- define "r4p.engineUrl" -}}
{{- if .Values.vllm.enabled -}}http://{{ .Release.Name }}-vllm:8000/v1{{- else -}}{{ .Values.engine.url }}{{- end -}}
{{- end }}

{{/* The resources of a container, with its GPUs among the limits. */}}
{{- define "r4p.resources" -}}
{{- $resources := deepCopy .resources }}
{{- if .gpus }}
{{- $_ := set $resources "limits" (merge (dict "nvidia.com/gpu" .gpus) ($resources.limits | default dict)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}
