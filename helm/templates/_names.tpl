{{- define "dsp-gateway.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 54 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 54 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "dsp-gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dsp-gateway.labels" -}}
{{ include "dsp-gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ include "dsp-gateway.tag" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "dsp-gateway.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "dsp-gateway.image" -}}
{{ .Values.image.repository }}:{{ include "dsp-gateway.tag" . }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "dsp-gateway.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "dsp-gateway.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{/* Configured forms of Redis, comma-separated; empty for the embedded store. */}}
{{- define "dsp-gateway.redisForms" -}}
{{- $forms := list -}}
{{- if hasKey .Values.secrets "REDIS_URL" }}{{ $forms = append $forms "secrets.REDIS_URL" }}{{ end -}}
{{- if dig "redis" "sentinels" list .Values.config }}{{ $forms = append $forms "config.redis.sentinels" }}{{ end -}}
{{- if dig "redis" "cluster" list .Values.config }}{{ $forms = append $forms "config.redis.cluster" }}{{ end -}}
{{- join "," $forms -}}
{{- end }}

{{- define "dsp-gateway.workers" -}}
{{ dig "server" "workers" 1 .Values.config | int }}
{{- end }}

{{/* The pod must outlive preStop and the drain; with workers the supervisor drains after them. */}}
{{- define "dsp-gateway.gracePeriodSeconds" -}}
{{- $drain := dig "server" "drainSeconds" 30 .Values.config | int -}}
{{- $rounds := ternary 2 1 (gt (include "dsp-gateway.workers" . | int) 1) -}}
{{- add .Values.preStopSeconds (mul $drain $rounds) 15 -}}
{{- end }}

{{- define "dsp-gateway.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "dsp-gateway.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
