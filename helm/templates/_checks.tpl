{{/* Rules beyond values.schema.json: values that depend on each other. The first fault ends rendering. */}}
{{- define "dsp-gateway.checks" -}}
{{- $redis := include "dsp-gateway.redisForms" . -}}
{{- $secrets := .Values.secrets -}}
{{- if contains "," $redis -}}
{{- fail (printf "Redis is given in more than one form (%s): keep one of them." ($redis | replace "," ", ")) -}}
{{- end -}}
{{- if not $redis -}}
{{- if .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled needs Redis, for the embedded store belongs to one pod: name secrets.REDIS_URL, or set config.redis.sentinels or config.redis.cluster." -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- fail (printf "replicas is %d, which needs Redis, for the embedded store belongs to one pod: name secrets.REDIS_URL, set config.redis.sentinels or config.redis.cluster, or set replicas to 1." (int .Values.replicas)) -}}
{{- end -}}
{{- if gt (include "dsp-gateway.workers" . | int) 1 -}}
{{- fail (printf "config.server.workers is %s, which needs Redis, for the embedded store belongs to one process: name secrets.REDIS_URL, set config.redis.sentinels or config.redis.cluster, or set config.server.workers to 1." (include "dsp-gateway.workers" .)) -}}
{{- end -}}
{{- if hasKey $secrets "REDIS_REGISTRY_URL" -}}
{{- fail "secrets.REDIS_REGISTRY_URL goes together with Redis only: name secrets.REDIS_URL too." -}}
{{- end -}}
{{- else -}}
{{- range $name := list "GATEWAY_MASTER_KEY" "ADMIN_TOKEN" -}}
{{- if not (hasKey $secrets $name) -}}
{{- fail (printf "secrets.%s is missing: with Redis (%s) the gateway makes none for itself. Name an existing Secret: --set secrets.%s.name=..." $name $redis $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $secrets "REDIS_PASSWORD") (not (contains "config.redis." $redis)) -}}
{{- fail "secrets.REDIS_PASSWORD goes with config.redis.sentinels or config.redis.cluster only: an address in secrets.REDIS_URL holds its own password." -}}
{{- end -}}
{{- $request := list "PLATFORM_USERNAME" "PLATFORM_PASSWORD" "PLATFORM_CLIENT_ID" "PLATFORM_CLIENT_SECRET" -}}
{{- $named := list -}}
{{- $missing := list -}}
{{- range $name := $request -}}
{{- if hasKey $secrets $name }}{{ $named = append $named $name }}{{ else }}{{ $missing = append $missing $name }}{{ end -}}
{{- end -}}
{{- if and $named $missing -}}
{{- fail (printf "secrets.%s is missing: the token request needs all of %s." (first $missing) (join ", " $request)) -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "prometheusRule" "dashboard" -}}
{{- if and (index $.Values.metrics $name).enabled (not $.Values.metrics.enabled) -}}
{{- fail (printf "metrics.%s.enabled needs metrics.enabled." $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.enabled needs at least one of ingress.hosts." -}}
{{- end -}}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) -}}
{{- fail (printf "autoscaling.minReplicas is %d, above autoscaling.maxReplicas (%d)." (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- end }}
